package workflow_test

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

// D4: what is wrong and what to write instead, one mistake at a time.
func TestEachMistakeHasItsWordsAndItsRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ steps, want string }{
		"end is not true":           {`{ a: { end: false } }`, "2:20: `end` wants true, not false; write true, or leave the step out"},
		"end is something else":     {`{ a: { end: stop } }`, "2:20: `end` wants true or false, or run, or an object, not the text \"stop\"; write true or false"},
		"wait without a time":       {`{ a: { wait: {} } }`, "2:21: `wait` does not say how long; write `wait: 5m` or `wait: { until: ... }`"},
		"map without a list":        {`{ a: { map: { do: { task: t } } } }`, "2:20: `map` does not say over what; write `over: LIST`"},
		"an item that hides a name": {`{ a: { map: { over: input.l, as: prev, do: { task: t } } } }`, "`as: prev` would hide a name that means something else; choose another name"},
		"an item with a dash":       {`{ a: { map: { over: input.l, as: my-row, do: { task: t } } } }`, "`my-row` cannot be used as a name in expressions; write letters, digits and _, with a letter first"},
		"an item with a digit":      {`{ a: { map: { over: input.l, as: 1row, do: { task: t } } } }`, "`1row` cannot be used as a name in expressions"},
		"a branch with a bad name":  {`{ a: { parallel: { "e u": { do: { task: t } } } } }`, "\"e u\" cannot be the name of a branch; write letters, digits, _ and - only"},
		"a branch without a body":   {`{ a: { parallel: { eu: {} } } }`, "the branch `eu` has no body; write `do:` with one step, or `steps:`"},
		"a key of a branch":         {`{ a: { parallel: { eu: { task: t } } } }`, "`task` is not a key of a branch; put it under `do:`"},
		"a tolerance above all":     {`{ a: { map: { over: input.l, tolerate: 101%, do: { task: t } } } }`, "`tolerate` wants a percentage from 0% to 100%, not \"101%\"; write a number, or a percentage such as 5%"},
		"a tolerance that is none":  {`{ a: { map: { over: input.l, tolerate: few, do: { task: t } } } }`, "`tolerate` wants a percentage from 0% to 100%, not \"few\""},
		"a word that is no choice":  {`{ a: { task: t, on_error: contin } }`, "`on_error` wants one of fail, continue, skip, not \"contin\"; write continue"},
		"a word like none":          {`{ a: { task: t, on_error: zzz } }`, "`on_error` wants one of fail, continue, skip, not \"zzz\"; write fail or continue or skip"},
		"attempts beside delays":    {`{ a: { task: t, retry: { attempts: 9, delays: [1s, 2s] } } }`, "`attempts` contradicts `delays`, a list of 2; leave it out, or write 3"},
		"no attempt":                {`{ a: { task: t, retry: 0 } }`, "`retry` is out of range: 0; write a number from 1 to 1000000"},
		"a retry of nothing":        {`{ a: { task: t, retry: [] } }`, "`retry` is empty; write at least one entry, or leave it out"},
		"half an attempt":           {`{ a: { task: t, retry: 1.5 } }`, "`retry` wants a whole number, not 1.5; write digits only"},
		"a huge number":             {`{ a: { task: t, priority: 1e400 } }`, "`priority` wants a whole number, not 1e400"},
		"a number as step":          {`{ a: { task: t, after: [1] } }`, "`after` wants a key, not 1; put it into quotes: \"1\""},
		"a bad key":                 {`{ a: { task: t, after: "b c" } }`, "`after` wants a key, not \"b c\"; write letters, digits, _ and - only"},
		"a step twice":              {`{ b: { task: t }, a: { task: t, after: [b, b] } }`, "`after` names `b` twice; keep one of the two"},
		"itself":                    {`{ a: { task: t, after: a } }`, "the steps wait for each other in a circle: `a` -> `a`"},
		"a circle by next":          {`{ a: { switch: [{ next: b }] }, b: { task: t, catch: { next: a } } }`, "2:10: the steps wait for each other in a circle: `a` -> `b` -> `a`"},
		"a long circle": {
			`{ a: { after: m, task: t }, b: { after: a, task: t }, c: { after: b, task: t }, d: { after: c, task: t }, e: { after: d, task: t }, f: { after: e, task: t }, g: { after: f, task: t }, h: { after: g, task: t }, i: { after: h, task: t }, j: { after: i, task: t }, k: { after: j, task: t }, l: { after: k, task: t }, m: { after: l, task: t } }`,
			"`a` -> `b` -> `c` -> `d` -> `e` -> `f` -> ... -> `j` -> `k` -> `l` -> `m` -> `a`",
		},
		"a step of another body":    {`{ a: { steps: { b: { task: t } } }, c: { after: b, task: t } }`, "the step `b` is in another body, where no edge from here can lead"},
		"end in a graph":            {`{ a: { switch: [{ next: end }] } }`, "`next: end` belongs to lists of steps, not to graphs; write a step with `end: true` and lead to that"},
		"next under do":             {`{ a: { map: { over: input.l, do: { task: t, catch: { next: x } } } } }`, "there is no step `x`; write a body instead of `next`, or `next: end`"},
		"behind an end":             {`{ a: { end: true }, b: { after: a, task: t } }`, "2:28: nothing reaches `b`: `a` ends its scope; take it out, or let it come after another step"},
		"need on a task":            {`{ a: { task: t, need: 1 } }`, "`need` does not belong to `task`; write it beside `parallel`, or inside `map`; write `join: N` for a step that several lead to"},
		"need beside a map":         {`{ a: { map: { over: input.l, do: { task: t } }, need: 1 } }`, "`need` does not belong to `map`"},
		"env on a task":             {`{ a: { task: t, env: { A: 1 } } }`, "`env` does not belong to `task`; write it on a `run` or `shell` step"},
		"timeout of set":            {`{ a: { set: {}, timeout: 1s } }`, "`timeout` does not belong to `set`; leave it out: the step takes no time"},
		"set of a text":             {`{ a: { set: hello } }`, "`set` wants an object, not the text \"hello\"; write an object"},
		"a do in a step":            {`{ a: { do: { task: t } } }`, "`do` is not a key of a step; write the action itself here"},
		"default of a switch":       {`{ a: { switch: [{ when: input.x, next: b }, { default: b }] }, b: { task: t } }`, "`default` is not a key of a switch case; leave `when` out of the last case"},
		"an unknown key of a catch": {`{ a: { task: t, catch: { zzz: 1, next: b } }, b: { task: t } }`, "`zzz` is not a key of a catch entry; known are do, except, next, only, steps, when"},
		"a step inside a step":      {`{ a: { build: { run: [make] } } }`, "`build` is not a key of a step; write the keys side by side: { id: build, run: ... }"},
		"nothing known":             {`{ a: { zzz: { x: 1 } } }`, "`zzz` is not a key of a step; known are "},
		"not even a place":          {`[ 1, { task: t } ]`, "`steps` wants an object, not 1; write an object"},
		"a case that is none":       {`{ a: { switch: [next] } }`, "`switch` wants an object, not the text \"next\""},
		"a script of nothing":       {`{ a: { shell: "  " } }`, "the script is empty; write a script"},
		"a folder outside":          {`{ a: { shell: x, dir: /tmp } }`, "`dir` leads out of the workflow's folder; write a folder inside the workflow's own"},
		"the steps alone":           {`{ a: { task: t }, b: { after: a, task: t, with: { x: "${ len(steps) }" } } }`, "2:69: `steps` alone cannot be used; write steps.KEY.output"},
		"items of what is no map":   {`{ a: { task: t }, b: { after: a, task: t, with: "${ steps.a.failed }" } }`, "steps.a.failed cannot be used here; only a map has failed items: write steps.KEY.error"},
		"a request without address": {`{ a: { http: {} } }`, "2:21: the request does not say where it goes; write `url:`"},
		"a request with two bodies": {`{ a: { http: { method: PUT, url: "https://a.test", json: 1, form: {} } } }`, "a request has one body, not `json` and `form`; keep one of them"},
		"a body of GET":             {`{ a: { http: { url: "https://a.test", json: 1 } } }`, "a request by GET has no body; write `method: POST`, or put it into `query`"},
		"a secret in an address":    {`{ a: { http: { url: "https://a.test/${ secrets.k }" } } }`, "secrets cannot be used here; secrets may stand in `env` and in the `headers` of http only"},
		"all secrets":               {`{ a: { shell: x, env: { A: "${ secrets }" } } }`, "`secrets` alone cannot be used; write secrets.NAME"},
		"with beside http":          {`{ a: { http: { url: "https://a.test" }, with: {} } }`, "`with` does not belong to `http`; leave it out: the action's own value says what it reads"},
		"an await of nothing":       {`{ a: { await: { within: 1d } } }`, "`await` wants one of `event`, `all` and `any`; write one of them"},
		"an event without a name":   {`{ a: { await: { any: [{ key: k }] } } }`, "the event has no name; write `event: NAME`"},
		"an emit to nobody":         {`{ a: { emit: { event: e, to: {} } } }`, "`to` does not name one run; write `{ run: ID }`, or `{ workflow: NAME, key: KEY }`"},
		"a child without a name":    {`{ a: { workflow: { key: k } } }`, "`workflow` does not say which; write `name: NAME` or `name: ./file.yaml`"},
		"a child elsewhere":         {`{ a: { workflow: /etc/x.yaml } }`, "`/etc/x.yaml` leads out of the workflow's folder"},
		"a savepoint that is none":  {`{ a: { savepoint: false } }`, "`savepoint` wants true, not false; write true, or leave the step out"},
		"a savepoint inside":        {`{ a: { steps: [{ savepoint: true }] } }`, "a savepoint stands at the root only; put it among the steps at the top"},
		"an unknown compensation":   {`{ a: { task: t, compensate: zzz } }`, "there is no compensation `zzz`; declare it under `compensations`, or write the action itself"},
		"a compensation of set":     {`{ a: { set: {}, compensate: { task: t } } }`, "`compensate` does not belong to `set`; leave it out: it does nothing that could be undone"},
		"a compensation of nothing": {`{ a: { task: t, compensate: { timeout: 1s } } }`, "has no action"},
		"its own failed output":     {`{ a: { task: t, compensate: { task: u, with: "${ steps.a.output.id }" } } }`, "steps.a.output may be null here: the step may have failed"},
		"an approval elsewhere":     {`{ a: { task: t, with: "${ approval.title }" } }`, "`approval` is known only in the `notify` of an approval"},
		"an ending elsewhere":       {`{ a: { task: t, with: "${ run.ending }" } }`, "run.ending cannot be used here; it is known in `finally` only"},
		"variables that are not":    {`{ a: { task: t, with: "${ vars.x }" } }`, "vars cannot be used here; declare them at the top: `vars: { NAME: DEFAULT }`"},
		"a step called like a case": {`{ case-2: { task: t } }`, "`case-2` may not be a key: paths name the bodies of switches and catches so; give it another key"},
		"a branch like a catch":     {`{ a: { parallel: { catch-1: { do: { task: t } } } } }`, "`catch-1` may not be a key"},
		"a step called finally":     {`{ finally: { task: t } }`, "a step here may not be called `finally`"},
		"a family of codes":         {`{ a: { task: t, catch: { only: 5xx, next: b } }, b: { task: t } }`, "`5xx` is no code and no family of codes; write http_4xx or http_5xx, or the codes themselves"},
		"a limit without a key":     {`{ a: { task: t, rate: { limit: 3 } } }`, "the limit has no key; write `key:`, with the same text for tasks that count together"},
		"a code with a bad name":    {`{ a: { fail: { code: " x" } } }`, "`code` begins or ends with space"},
		"a heartbeat of a command":  {`{ a: { shell: x, heartbeat: 1s } }`, "`heartbeat` does not belong to `shell`; write it on a `task` step"},
		"an unknown key of a var":   {`{ a: { http: { url: "https://a.test", data: 1 } } }`, "`data` is not a key of an HTTP request; write `json`, `form` or `body`"},
		"a recipient's key":         {`{ a: { emit: { event: e, to: { id: x } } } }`, "`id` is not a key of a recipient; known are key, run, workflow"},
		"a key of a child":          {`{ a: { workflow: { name: w, input: {} } } }`, "`input` is not a key of a child workflow; write `with`"},
		"a key of an awaited event": {`{ a: { await: { all: [{ event: e, within: 1d }] } } }`, "`within` is not a key of an awaited event; known are event, key"},
		"a key of a notification":   {`{ a: { approve: { notify: { task: t, after: a } } } }`, "`after` is not a key of a notification"},
		"a step inside another":     {`{ a: { steps: { x: { task: t } } }, b: { after: a, task: t, with: "${ steps.x.output }" } }`, "steps.x cannot be used here; `x` is inside `a`: read what that gives, steps.a.output"},
		"a step inside a do":        {`{ a: { map: { over: input.l, do: { steps: { x: { task: t } } } } }, b: { after: a, task: t, with: "${ steps.x.output }" } }`, "steps.x cannot be used here; it belongs to a body that this expression does not stand in"},
		"until asks inside":         {`{ a: { loop: { until: steps.x.output.ok, do: { steps: { x: { task: t } } } } } }`, "steps.x cannot be used here; read what the body gave: write prev"},
		"further down a list":       {`[{ id: a, task: t, with: "${ steps.b.output }" }, { id: b, task: t }]`, "`b` cannot have run before: put it further up in the list"},
		"error out of place":        {`{ a: { task: t, with: "${ error.code }" } }`, "error cannot be used here; `error` is known only where a catch leads, in compensations and in `finally`: write steps.KEY.error"},
		"a let is no step":          {`{ a: { task: t }, b: { after: a, task: t, with: "${ let x = a.b; x }" } }`, "a cannot be used here; write steps.a.output"},
		"a number as condition":     {`{ a: { task: t, when: 1 } }`, "must give a boolean, not a number"},
		"limit of nothing":          {`{ a: { loop: { limit: -1, do: { task: t } } } }`, "expression: "},
		"item without a list":       {`{ a: { loop: { as: x, limit: 1, do: { task: t } } } }`, "`as` names an item, but the loop has no list; write `over: LIST` too, or leave it out"},
		"a key with a dash":         {`{ a-b: { task: t }, c: { after: a-b, task: t, with: "${ steps.a-b.output }" } }`, "a dash behind a dot reads as a minus; write steps[\"a-b\"].output"},
		"many names of steps": {
			`{ a1: { task: t }, a2: { task: t }, a3: { task: t }, a4: { task: t }, a5: { task: t }, a6: { task: t }, a7: { task: t }, a8: { task: t }, a9: { task: t, after: zzz } }`,
			"there is no step `zzz`; the steps here are a1, a2, a3, a4, a5, a6, a7, a8, ...",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Read("w.yaml", []byte("workflow: w\nsteps: "+c.steps+"\n"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// What is right although it looks like one of the mistakes.
func TestWhatLooksWrongButIsRight(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]string{
		"a step called like a function":    `{ filter: { task: t }, r: { after: filter, task: t, with: "${ filter(input.l, # > 1) }" } }`,
		"a step called like a let":         `{ row: { task: t }, r: { after: row, task: t, with: "${ let x = 1; x + steps.row.output }" } }`,
		"a dash in a key":                  `{ a-b: { task: t }, r: { after: a-b, task: t, with: "${ steps[\"a-b\"].output.x }" } }`,
		"a step named in prose":            `{ a: { task: t }, r: { task: t, with: "see steps.a.output.x and ${ input.y }" } }`,
		"a dollar that is none":            `{ r: { task: t, with: "$${ nothing } and $5" } }`,
		"a fail that may be passed over":   `{ a: { fail: {}, when: input.x }, b: { after: a, task: t } }`,
		"a jump to the step itself":        `[{ id: a, task: t, catch: { next: a } }]`,
		"a branch called like a catch":     `{ a: { parallel: { catch: { do: { task: t } } }, catch: { do: { task: t, with: "${ error.code }" } } } }`,
		"a set of one expression":          `{ a: { set: "${ input.x }" } }`,
		"an inner step of an outer's name": `{ a: { task: t }, b: { after: a, steps: [{ id: a, task: t }, { task: t, with: "${ steps.a.output.x }" }] } }`,
		"a need that is a number":          `{ a: { parallel: { x: { do: { task: t } } }, need: 1 } }`,
		"two tries of a switch":            `{ a: { switch: [{ do: { task: t } }], retry: 2, timeout: 1m } }`,
		"an item that hides an outer one":  `{ a: { map: { over: input.l, do: { map: { over: item, do: { task: t, with: "${ item }" } } } } } }`,
		"outside a large body": `{ ` + func() string {
			var b strings.Builder
			for i := range 60 {
				b.WriteString("s" + string(rune('A'+i/26)) + string(rune('a'+i%26)) + ": { task: t }, ")
			}
			return b.String()
		}() + `r: { after: [sAa, sCh], task: t, with: "${ steps.sAa.output.x + steps.sCh.output.x }" } }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := message(t, "w.yaml", "workflow: w\nsteps: "+steps+"\n"); got != "" {
				t.Error(got)
			}
		})
	}
}

func TestMistakesPointIntoTheirText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ with, want string }{
		"plain":                     {" with: é ${ wrong }", "5:16"},
		"in double quotes":          {` with: "é ${ wrong }"`, "5:17"},
		"in single quotes":          {` with: 'é ${ wrong }'`, "5:17"},
		"behind an escape":          {` with: "\t${ wrong }"`, "5:11"},
		"behind an escaped quote":   {` with: 'it''s ${ wrong }'`, "5:11"},
		"in a block":                {" with: |\n      é\n      é ${ wrong }", "7:12"},
		"in a block at a depth":     {" with:\n      - |\n          ${ wrong }", "7:14"},
		"in a folded block":         {" with: >\n      one\n      two ${ wrong }", "5:11"},
		"in a folded block's start": {" with: >\n      ${ wrong } one\n      two", "5:11"},
		"in a quoted text of lines": {" with: \"one\n      two ${ wrong }\"", "5:11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := message(t, "w.yaml", "workflow: w\nsteps:\n  a:\n    task: t\n   "+c.with+"\n")
			if !strings.HasPrefix(got, "w.yaml:"+c.want+": ") {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/workflow"
)

// D6: the builder and the reader give the same value.
func TestTheBuilderGivesWhatTheReaderGives(t *testing.T) {
	t.Parallel()
	policy := workflow.DefaultRetry()
	policy.Delays, policy.For, policy.Only, policy.Grow = []time.Duration{time.Second, time.Minute, time.Hour}, 24*time.Hour, []string{"again"}, ""
	other := workflow.RetryPolicy{Attempts: 3, Delay: 250 * time.Millisecond, Factor: 3, Grow: workflow.Exponential, MaxDelay: 90 * time.Minute, Except: []string{"declined"}}
	linear := workflow.DefaultRetry()
	linear.Grow, linear.Attempts = workflow.Linear, 2
	built, err := workflow.NewBuilder("order", 3).
		Title("Take an order").
		Description("Reserves, charges and packs.\nThen it tells the customer.\n").
		Input(json.RawMessage(`{"type":"object","required":["customer","lines"],"properties":{"customer":{"type":"string","minLength":1},"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"count":{"type":"integer","default":1}}}},"express":{"type":"boolean","default":false}}}`)).
		Steps(workflow.GraphOf(
			workflow.NewTask("reserve", "stock.reserve").Title("Reserve the stock").
				With(json.RawMessage(`{"lines":"${ input.lines }","key":"${ task.key }"}`)).
				Attempts(5).Queue("stock").Priority(10).Lease(time.Minute).AtMostOnce().Meta(json.RawMessage(`{"owner":["stock",1.50]}`)),
			workflow.NewRun("charge", "./charge.sh", "${ steps.reserve.output.total }", "7").After("reserve").
				Env(map[string]any{"CURRENCY": "EUR", "ATTEMPT": "${ task.attempt }"}).Dir("scripts").
				Stdin(workflow.StdinNone).Stdout(workflow.StdoutJSON).Codes(map[int]string{3: "declined", 10: "again"}).
				Retry(policy, other, linear).Timeout(30*time.Second).
				Catch(
					workflow.GoTo("", "refuse").Only("declined"),
					workflow.Inside(`error.message != ""`, workflow.One(workflow.NewTask("", "people.tell").With("${ error.code }"))).Except("timeout"),
				),
			workflow.NewShell("refuse", "echo \"$REASON\" >&2\n").Env(map[string]any{"REASON": "${ error.message ?? '' }"}),
			workflow.NewSwitch("large",
				workflow.GoTo("(steps.charge.output?.amount ?? 0) > 1000", "review"),
				workflow.GoTo("input.express", "pack"),
				workflow.GoTo("", "pack"),
			).After("charge"),
			workflow.NewWaitUntil("review", "input.review_at ?? '2030-01-01T00:00:00Z'").OnError(workflow.OnErrorSkip),
			workflow.NewMap("pack", "input.lines",
				workflow.One(workflow.NewRun("", "./pack.sh", "${ line.sku }", "${ line_index }", "${ steps.reserve.output.total }")),
			).After("review").When("len(input.lines) > 0").As("line").AtOnce(8).Tolerate(workflow.Tolerate{Percent: 5}).
				Need("len(input.lines) - 1").CancelRest().Timeout(2*time.Hour),
			workflow.NewTask("notify", "mail.send").After("pack", "refuse").Join(workflow.Join{Kind: workflow.JoinAny}).CancelRest().
				With(json.RawMessage(`{"failed":"${ len(steps.pack.failed ?? []) }","run":"${ run.id }"}`)).
				OnError(workflow.OnErrorContinue).Delay(5*time.Second),
		)).
		Output(json.RawMessage(`{"parcels":"${ steps.pack.output }","total":"${ steps.reserve.output.total }"}`)).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	read := readFile(t, "testdata/valid/order.yaml")
	text := strings.Replace(string(read.Canonical()), `"${ steps.reserve.output.total }",7]`, `"${ steps.reserve.output.total }","7"]`, 1)
	if read, err = workflow.Read("order.json", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(flatten(read), flatten(built), sameValue); diff != "" {
		t.Errorf("-read +built:\n%s", diff)
	}
	if !workflow.Equal(read, built) || read.Hash() != built.Hash() {
		t.Errorf("not equal:\n%s\n%s", read.Canonical(), built.Canonical())
	}
}

func TestTheBuilderMakesEveryAction(t *testing.T) {
	t.Parallel()
	built, err := workflow.NewBuilder("w", 0).Steps(workflow.SequenceOf(
		workflow.NewWait("", time.Minute).Description("a rest"),
		workflow.NewSet("s", map[string]any{"x": "<&>", "n": 1.5}),
		workflow.NewParallel("p").
			Branch("eu", workflow.One(workflow.NewTask("", "t").When("input.x"))).
			Branch("us", workflow.SequenceOf(workflow.NewEnd("").Output("${ prev }"))).Need("1").CancelRest(),
		workflow.NewLoop("l", workflow.GraphOf(workflow.NewTask("t", "t"))).Over("input.l").As("row").While("row < 3").Until("prev == 1").
			Limit("3").Every(time.Second).Collect(),
		workflow.NewMap("m", "input.l", workflow.One(workflow.NewFail("", "c", "m").Data(map[string]int{"a": 1}))).Tolerate(workflow.Tolerate{Count: 2}),
		workflow.NewBlock("b", workflow.GraphOf(
			workflow.NewTask("x", "x"), workflow.NewTask("y", "y"),
			workflow.NewTask("j", "j").After("x", "y").Join(workflow.Join{Kind: workflow.JoinCount, N: 2}),
			workflow.NewTask("k", "k").After("x", "y").Join(workflow.Join{Kind: workflow.JoinSettled}),
			workflow.NewTask("a", "a").After("x", "y").Join(workflow.Join{}),
		)).OnError(workflow.OnErrorFail),
		workflow.NewSwitch("", workflow.Inside("input.y", workflow.One(workflow.NewEndRun(""))), workflow.GoTo("", "end")),
		workflow.NewFail("last", "", "").When("false"),
	)).Build()
	if err != nil {
		t.Fatal(err)
	}
	read := mustRead(t, `
workflow: w
steps:
  - { wait: 1m, description: a rest }
  - { id: s, set: { n: 1.5, x: <&> } }
  - id: p
    parallel: { eu: { do: { task: t, when: input.x } }, us: { steps: [{ end: { output: "${ prev }" } }] } }
    need: 1
    cancel_rest: true
  - id: l
    loop: { over: input.l, as: row, while: row < 3, until: prev == 1, limit: 3, every: 1s, collect: true, steps: { t: { task: t } } }
  - { id: m, map: { over: input.l, tolerate: 2, do: { fail: { code: c, message: m, data: { a: 1 } } } } }
  - id: b
    steps:
      x: { task: x }
      y: { task: y }
      j: { task: j, after: [x, y], join: 2 }
      k: { task: k, after: [x, y], join: settled }
      a: { task: a, after: [x, y] }
  - switch: [{ when: input.y, do: { end: run } }, { next: end }]
  - { id: last, fail: {}, when: false }
`)
	if diff := cmp.Diff(flatten(read), flatten(built), sameValue); diff != "" {
		t.Errorf("-read +built:\n%s", diff)
	}
}

func TestBuilderMistakesNameThePart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body *workflow.BodyDraft
		want string
	}{
		"a value that is no JSON":       {workflow.GraphOf(workflow.NewTask("a", "a").With(math.NaN())), "/steps/a/with: the value cannot be written as JSON: json: unsupported value: NaN"},
		"in a branch":                   {workflow.GraphOf(workflow.NewParallel("a").Branch("b", workflow.One(workflow.NewSet("", func() {})))), "/steps/a/parallel/b/do/set: the value cannot be written"},
		"in a case":                     {workflow.GraphOf(workflow.NewSwitch("a", workflow.Inside("", workflow.One(workflow.NewSet("", func() {}))))), "/steps/a/switch/0/do/set: the value cannot be written"},
		"in a block":                    {workflow.GraphOf(workflow.NewBlock("a", workflow.SequenceOf(workflow.NewSet("", func() {})))), "/steps/a/steps/0/set: the value cannot be written"},
		"text that is not UTF-8":        {workflow.GraphOf(workflow.NewShell("a", "\xff")), "/steps/a/shell: a text holds NUL or is not UTF-8"},
		"NUL":                           {workflow.GraphOf(workflow.NewShell("a", "\x00")), "/steps/a/shell: a text holds NUL or is not UTF-8"},
		"half a pair in a value":        {workflow.GraphOf(workflow.NewTask("a", "a").With(json.RawMessage(`"\ud800"`))), "/steps/a/with: a text holds half of a surrogate pair"},
		"a key twice":                   {workflow.GraphOf(workflow.NewTask("a", "a"), workflow.NewTask("a", "b")), "/steps/a: two steps here are called `a`"},
		"no key":                        {workflow.GraphOf(workflow.NewTask("", "a")), `"" cannot be the key of a step`},
		"no time":                       {workflow.GraphOf(workflow.NewTask("a", "a").Timeout(0)), "/steps/a/timeout: `timeout` is no time at all"},
		"negative time":                 {workflow.GraphOf(workflow.NewWait("a", -time.Second)), "/steps/a/wait: `wait`: \"\" is not a duration"},
		"endless time":                  {workflow.GraphOf(workflow.NewWait("a", math.MaxInt64)), "is too long"},
		"a policy without attempts":     {workflow.GraphOf(workflow.NewTask("a", "a").Retry(workflow.RetryPolicy{Factor: 1})), "/steps/a/retry/0/attempts: `attempts` is out of range: 0"},
		"not a number":                  {workflow.GraphOf(workflow.NewTask("a", "a").Retry(workflow.RetryPolicy{Attempts: 1, Factor: math.NaN()})), "/steps/a/retry/0/factor: `factor` is out of range: NaN"},
		"an action's key on another":    {workflow.GraphOf(workflow.NewTask("a", "a").Until("true")), "/steps/a/until: `until` is not a key of a step; write `loop: { until: ..., do: ... }`"},
		"an unknown step":               {workflow.GraphOf(workflow.NewTask("a", "a").After("b")), "/steps/a/after/0: there is no step `b`"},
		"next in a graph":               {workflow.GraphOf(workflow.NewTask("a", "a").Next("b")), "/steps/a/next: `next` does not belong to a step of a map"},
		"a wrong way of going on":       {workflow.SequenceOf(workflow.NewTask("a", "a").OnError(7)), ""},
		"a body of one step at the top": {workflow.One(workflow.NewTask("a", "a")), "/do: `do` is not a key of a workflow; write `steps:` with a list"},
		"an expression":                 {workflow.GraphOf(workflow.NewTask("a", "a").With([]string{"x", "${ inptu }"})), "/steps/a/with/1: expression: unknown name inptu; write input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.NewBuilder("w", 1).Steps(c.body).Build()
			var mistakes *workflow.Mistakes
			switch {
			case c.want == "" && err == nil:
			case !errors.As(err, &mistakes) || !strings.Contains(err.Error(), c.want):
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	var deep any = 1
	for range 80 {
		deep = []any{deep}
	}
	if _, err := workflow.NewBuilder("w", 1).Output(deep).Steps(workflow.GraphOf(workflow.NewTask("a", "a"))).Build(); err == nil || !strings.Contains(err.Error(), "nested deeper than 64") {
		t.Errorf("a deep value gave %v", err)
	}
	body := workflow.SequenceOf(workflow.NewTask("", "a"))
	for range 80 {
		body = workflow.SequenceOf(workflow.NewBlock("", body))
	}
	if _, err := workflow.NewBuilder("w", 1).Steps(body).Build(); err == nil || !strings.Contains(err.Error(), "/: the workflow is nested deeper than 64") {
		t.Errorf("a deep body gave %v", err)
	}
	if _, err := workflow.NewBuilder("w", 1).Output(func() {}).Steps(body).Build(); err == nil || !strings.Contains(err.Error(), "/output: the value cannot be written") {
		t.Errorf("a function gave %v", err)
	}
	if _, err := workflow.NewBuilder("w", -1).Build(); err == nil || !strings.Contains(err.Error(), "`version` is out of range: -1") {
		t.Errorf("version -1 gave %v", err)
	}
}

func TestABuilderMayBeUsedAgain(t *testing.T) {
	t.Parallel()
	b := workflow.NewBuilder("w", 1).Steps(workflow.SequenceOf(workflow.NewTask("", "a"), workflow.NewTask("", "b")))
	first, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	before := string(first.Canonical())
	second, err := b.Title("again").Build()
	if err != nil {
		t.Fatal(err)
	}
	if string(first.Canonical()) != before || workflow.Equal(first, second) || second.Title != "again" {
		t.Errorf("%s\n%s\n%s", before, first.Canonical(), second.Canonical())
	}
	if workflow.Equal(first, nil) || !workflow.Equal(nil, nil) {
		t.Error("nil is equal to a definition, or not to nil")
	}
}

// The hash is that of the content: neither the version nor the way of writing changes it, anything else does.
func TestTheHashIsThatOfTheContent(t *testing.T) {
	t.Parallel()
	base := mustRead(t, "workflow: w\nsteps: { a: { task: a, retry: 5, timeout: 90s }, b: { after: a, task: b } }\n")
	for name, text := range map[string]string{
		"another version":  "workflow: w\nversion: 7\nsteps: { a: { task: a, retry: 5, timeout: 90s }, b: { after: a, task: b } }\n",
		"another spelling": "steps: { a: { timeout: PT1M30S, retry: [{ attempts: 5, delay: 1000ms, jitter: 0.20 }], task: a, queue: default, on_error: fail }, b: { task: b, after: [a], join: all } }\nworkflow: w\nx-note: 1\n",
	} {
		if d := mustRead(t, text); d.Hash() != base.Hash() {
			t.Errorf("%s has another hash:\n%s\n%s", name, base.Canonical(), d.Canonical())
		}
	}
	seen := map[[32]byte]string{base.Hash(): "base"}
	for name, text := range map[string]string{
		"name":  "workflow: v\nsteps: { a: { task: a, retry: 5, timeout: 90s }, b: { after: a, task: b } }\n",
		"retry": "workflow: w\nsteps: { a: { task: a, timeout: 90s }, b: { after: a, task: b } }\n",
		"edge":  "workflow: w\nsteps: { a: { task: a, retry: 5, timeout: 90s }, b: { task: b } }\n",
		"order": "workflow: w\nsteps: { b: { after: a, task: b }, a: { task: a, retry: 5, timeout: 90s } }\n",
	} {
		h := mustRead(t, text).Hash()
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
	want := "2a6d"
	if got := fmt.Sprintf("%x", base.Hash()); !strings.HasPrefix(got, want) {
		t.Errorf("the hash is %s: stored definitions of older versions would count as changed", got)
	}
}

// draw makes a random body of valid steps, at most depth bodies deep.
func drawBody(t *rapid.T, depth int) *workflow.BodyDraft {
	n := rapid.IntRange(1, 4).Draw(t, "steps")
	graph := rapid.Bool().Draw(t, "graph")
	var steps []*workflow.StepDraft
	for i := range n {
		key := fmt.Sprintf("s%d", i)
		if !graph && rapid.Bool().Draw(t, "nameless") {
			key = ""
		}
		s := drawStep(t, key, depth)
		if graph && i > 0 && rapid.Bool().Draw(t, "edge") {
			before := []string{fmt.Sprintf("s%d", rapid.IntRange(0, i-1).Draw(t, "from"))}
			if second := fmt.Sprintf("s%d", i-1); before[0] != second && rapid.Bool().Draw(t, "second") {
				before = append(before, second)
			}
			s.After(before...)
			if rapid.Bool().Draw(t, "join") {
				s.Join(workflow.Join{Kind: workflow.JoinKind(rapid.IntRange(0, 3).Draw(t, "kind")), N: len(before)})
			}
		}
		steps = append(steps, s)
	}
	if graph {
		return workflow.GraphOf(steps...)
	}
	return workflow.SequenceOf(steps...)
}

func drawInner(t *rapid.T, depth int) *workflow.BodyDraft {
	if rapid.Bool().Draw(t, "one") {
		return workflow.One(drawStep(t, "", depth))
	}
	return drawBody(t, depth-1)
}

func drawStep(t *rapid.T, key string, depth int) *workflow.StepDraft {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab c\n\t\"'é:#-{}[]😀|>&*!%@`,\u2028\u0085~0")), 0, 12, -1)
	kinds := 6
	if depth > 0 {
		kinds = 11
	}
	var s *workflow.StepDraft
	switch rapid.IntRange(0, kinds-1).Draw(t, "action") {
	case 0:
		s = workflow.NewTask(key, "t").With(map[string]any{"v": text.Draw(t, "value"), text.Draw(t, "name"): "${ input.x }"})
	case 1:
		s = workflow.NewRun(key, "p", text.Draw(t, "arg"), "${ prev }").Env(map[string]any{"A": 1.5, "B": text.Draw(t, "env")}).Stdin(workflow.StdinNone)
	case 2:
		s = workflow.NewShell(key, "x"+text.Draw(t, "script")).Codes(map[int]string{3: "c", 20: "d"})
	case 3:
		s = workflow.NewSet(key, map[string]any{"v": []any{nil, true, text.Draw(t, "item"), map[string]any{}}})
	case 4:
		s = workflow.NewWait(key, time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "wait")))
	case 5:
		s = workflow.NewTask(key, "u").Attempts(rapid.IntRange(1, 9).Draw(t, "attempts")).Timeout(time.Hour).OnError(workflow.OnError(rapid.IntRange(0, 2).Draw(t, "on_error")))
	case 6:
		s = workflow.NewBlock(key, drawBody(t, depth-1))
	case 7:
		s = workflow.NewParallel(key).Branch("a", drawInner(t, depth-1)).Branch("b", drawInner(t, depth-1)).Need("1")
	case 8:
		s = workflow.NewMap(key, "input.l", drawInner(t, depth-1)).As("row").Tolerate(workflow.Tolerate{Percent: float64(rapid.IntRange(0, 100).Draw(t, "percent"))})
	case 9:
		s = workflow.NewLoop(key, drawInner(t, depth-1)).Limit("3").Until("pass.number > 2")
	default:
		s = workflow.NewSwitch(key, workflow.Inside("input.x", drawInner(t, depth-1)), workflow.Inside("", drawInner(t, depth-1)))
	}
	if rapid.Bool().Draw(t, "when") {
		s.When("input.go")
	}
	if rapid.Bool().Draw(t, "title") {
		s.Title(text.Draw(t, "title text"))
	}
	return s
}

// D6: whatever is built survives being written and read, as JSON and as YAML.
func TestWhateverIsBuiltSurvivesWriteAndRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		built, err := workflow.NewBuilder("w", rapid.IntRange(0, 3).Draw(t, "version")).Steps(drawBody(t, 3)).Build()
		if err != nil {
			t.Fatalf("the generator made a mistake: %v", err)
		}
		for name, written := range map[string][]byte{"w.json": built.Canonical(), "w.yaml": built.YAML()} {
			read, err := workflow.Read(name, written)
			if err != nil {
				t.Fatalf("%v\nof\n%s", err, written)
			}
			if diff := cmp.Diff(flatten(built), flatten(read), sameValue); diff != "" {
				t.Fatalf("%s (-built +read):\n%s\nof\n%s", name, diff, written)
			}
			if !workflow.Equal(built, read) || built.Hash() != read.Hash() {
				t.Fatalf("%s is not equal:\n%s\n%s", name, built.Canonical(), read.Canonical())
			}
		}
	})
}

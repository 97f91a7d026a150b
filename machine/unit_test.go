package machine

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
)

func TestDataSurvivesWriteAndRead(t *testing.T) {
	t.Parallel()
	for _, d := range []Data{
		{},
		entryData(7), valueData("a:b", 3), literal(json.RawMessage(`{"a":1}`)),
		{Kind: ListOf},
		listOf(entryData(1), Data{}),
		objectOf([]string{"a"}, []Data{entryData(2)}),
		resultsOf(OutputsOf, "m~2", 5),
		resultsOf(FailedOf, "m", 300),
	} {
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var got Data
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		again, _ := json.Marshal(got)
		if string(again) != string(b) || got.Kind != d.Kind {
			t.Errorf("%s came back as %s", b, again)
		}
	}
	if d := literal(json.RawMessage("null")); !d.IsZero() {
		t.Errorf("null is %+v", d)
	}
	var empty Data
	if b, _ := json.Marshal(Data{Kind: ObjectOf}); json.Unmarshal(b, &empty) != nil || string(empty.made().Const) != "{}" {
		t.Errorf("an empty object came back as %+v", empty)
	}
}

func TestGarbageIsRefusedAndNeverPanics(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`"x"`, `[]`, `1.5`, `{}`, `{"k":["a"],"l":[]}`, `{"l":3}`, `{"v":`,
	} {
		var d Data
		if json.Unmarshal([]byte(bad), &d) == nil {
			t.Errorf("%s was read as %+v", bad, d)
		}
	}
	for _, bad := range []string{`"s"`, `"s0"`, `"s99999999999"`, `3`, `"1s"`, `"s100001"`} {
		var s States
		if json.Unmarshal([]byte(bad), &s) == nil {
			t.Errorf("%s was read as %v", bad, s)
		}
	}
	r := NewRun(Header{ID: "r"})
	for path, bad := range map[string]string{"a": `{"s":1}`, "a[0:]": `{"s":"s1","o":[1,2]}`, "b[0:]": `[]`} {
		if err := r.Put(path, []byte(bad)); err == nil {
			t.Errorf("%s was taken as the document %s", bad, path)
		}
	}
	for _, bad := range []string{`{"s":"s1"}`, `{`} {
		if err := r.SetRoot([]byte(bad)); err == nil {
			t.Errorf("%s was taken as a root document", bad)
		}
	}
}

func TestReferencesAsText(t *testing.T) {
	t.Parallel()
	for _, r := range []Ref{{Seq: 1}, {Seq: math.MaxInt64}, {Key: "m~2", Index: 3}, {Key: "a:b/c", Index: 0}} {
		got, err := ParseRef(r.String())
		if err != nil || got != r {
			t.Errorf("%s came back as %v, %v", r, got, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", ":1", "a:", "a:-1", "a:x"} {
		if r, err := ParseRef(bad); err == nil {
			t.Errorf("%q was read as %v", bad, r)
		}
	}
}

// D1: the core takes any text as a key and escapes it in paths.
func TestKeysWithTheMarksOfPathsAreEscaped(t *testing.T) {
	t.Parallel()
	def := read(t, "steps:\n  p: { parallel: { x: { do: { task: h } }, y: { steps: [ { id: q, task: h } ] } } }\n")
	p := def.Body.Steps[0]
	p.Key = "100%/#~[1]!go"
	def.Body.ByKey = map[string]int{p.Key: 0}
	p.Action.(*workflow.Parallel).Branches[0].Name = "a/b[2]~3"
	w := newWorld(def)
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("1")})
	paths := sortedTasks(w)
	want := []string{"100%25%2F%23%7E%5B1%5D!go/a%2Fb%5B2%5D%7E3", "100%25%2F%23%7E%5B1%5D!go/y/q"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Fatal(diff)
	}
	for _, path := range paths {
		w.tell(Event{Kind: TaskSucceeded, Path: path, Attempt: 1, Payload: json.RawMessage("2")})
	}
	if w.replayed(); w.status != Succeeded || len(w.faults) > 0 {
		t.Errorf("%s %v", w.status, w.faults)
	}
}

func TestPathsThatNameNothingAreRefused(t *testing.T) {
	t.Parallel()
	def := read(t, `steps:
  a: { task: h, catch: { do: { task: h } } }
  g: { steps: [ { id: x, task: h } ] }
  s: { switch: [ { when: "true", next: a2 }, { do: { task: h } } ] }
  a2: { task: h }
  m: { map: { over: "[1]", do: { task: h } } }
  l: { loop: { until: "true", steps: [ { id: x, task: h } ] } }
  p: { parallel: { x: { do: { task: h } } } }
`)
	for _, bad := range []string{
		"", "b", "a#", "a#1", "a#x", "a~", "a~1", "a/x", "a/catch-2", "a/catch-0", "a/catch-x", "g", "g/y", "g/", "s/case-1", "s/case-3",
		"m[", "m[x]", "m[-1]", "m[01]", "m/x", "l[1]", "l[1]x", "l[1]/y", "p/y", "p[1]", "p/%zz", "p/%7", "a%2", "m[0]/x",
	} {
		if s, err := Locate(def, bad); err == nil && bad != "g" {
			t.Errorf("%q names %s", bad, s.Key)
		}
	}
	for good, key := range map[string]string{
		"a": "a", "a#2": "a", "a/catch-1": "do", "g": "g", "g/x": "x", "g~3/x": "x", "s/case-2": "do", "m[7]": "do", "m~2[0]": "do",
		"l[3]/x": "x", "l[3]/x#2": "x", "p/x": "do",
	} {
		if s, err := Locate(def, good); err != nil || s.Key != key {
			t.Errorf("%q: %v", good, err)
		}
	}
	deep := "l" + strings.Repeat("[1]", 100)
	if _, err := Locate(def, deep); !errors.Is(err, errPath) {
		t.Errorf("%s: %v", deep, err)
	}
}

func TestDocumentsOnTheWayToAnActivation(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"a":               nil,
		"g/x":             {"g", "g/x"},
		"m[300]":          {"m[256:]", "m[300]"},
		"m[3]/n~2[5]/x":   {"m[0:]", "m[3]", "m[3]/n~2[0:]", "m[3]/n~2[5]", "m[3]/n~2[5]/x"},
		"m[0][1]":         {"m[0:]", "m[0]", "m[0][0:]", "m[0][1]"},
		"broken[1":        nil,
		"m[x]/y":          {"m[x]", "m[x]/y"},
		"s/case-1/p/eu#2": {"s", "s/case-1", "s/case-1/p", "s/case-1/p/eu#2"},
	} {
		if diff := cmp.Diff(want, Documents(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// A2: next-try times are the same on every machine that computes them, and stay within the policy.
func TestBackoffIsBoundedAndTheSameEverywhere(t *testing.T) {
	t.Parallel()
	p := workflow.DefaultRetry()
	if got := backoff(&p, 1, identity("r", "a", 1)); got != 1034238*time.Microsecond && got.Truncate(time.Microsecond) != 1034238*time.Microsecond {
		t.Errorf("the first delay is %s", got)
	}
	for n := 1; n < 2000; n++ {
		for _, u := range []float64{0, 0.5, 0.999999} {
			if d := backoff(&p, n, u); d < 0 || d > p.MaxDelay {
				t.Fatalf("delay %d is %s", n, d)
			}
			open := workflow.RetryPolicy{Delay: time.Hour, Factor: 10, Grow: workflow.Exponential, Jitter: 1}
			if d := backoff(&open, n, u); d < 0 || d > maxBackoff {
				t.Fatalf("delay %d without a bound is %s", n, d)
			}
		}
	}
	seen := map[float64]bool{}
	for n := range 1000 {
		u := identity("r", "a", n)
		if u < 0 || u >= 1 || seen[u] {
			t.Fatalf("attempt %d has %g", n, u)
		}
		seen[u] = true
	}
}

func read(t *testing.T, source string) *workflow.Definition {
	t.Helper()
	def, err := workflow.Read("t.yaml", []byte("workflow: t\n"+source))
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func TestADamagedDocumentIsAnErrorOfItsRunAlone(t *testing.T) {
	t.Parallel()
	def := read(t, "steps:\n  g: { steps: [ { id: x, task: h } ] }\n  b: { task: h }\n")
	good := started(t, def)
	for name, harm := range map[string]func(*Run){
		"no root":           func(r *Run) { r.Root = nil },
		"no part of a run":  func(r *Run) { r.Root.Run = nil },
		"too few states":    func(r *Run) { r.Scopes["g"].States = nil },
		"no box":            func(r *Run) { r.Root.Live[0].Box = nil },
		"step not live":     func(r *Run) { delete(r.Root.Live, 0) },
		"scope in disguise": func(r *Run) { r.Scopes["g"].States[0] = StepOpen },
	} {
		r := *good
		r.Root = good.Root.clone()
		r.Scopes = map[string]*Scope{"g": good.Scopes["g"].clone()}
		harm(&r)
		after, effects, err := Apply(def, &r, Event{Kind: TaskSucceeded, Path: "g/x", Attempt: 1, At: 5})
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (after.Seq != r.Seq || effects != nil) {
			t.Errorf("%s: an error changed something", name)
		}
	}
}

func started(t *testing.T, def *workflow.Definition) *Run {
	t.Helper()
	start := Event{Kind: RunStarted, At: 1, Payload: json.RawMessage(`[1]`)}
	r, _, err := ApplyLoading(def, NewRun(Header{ID: "r"}), start, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	def := read(t, "steps:\n  g: { steps: [ { id: x, task: h } ] }\n  m: { map: { over: input, do: { task: h } } }\n  w: { wait: 1h }\n")
	good := started(t, def)
	if found := Check(def, good); found != nil {
		t.Fatalf("a sound run: %v", found)
	}
	if found := Check(def, NewRun(Header{})); found != nil {
		t.Errorf("a run that has not started: %v", found)
	}
	for word, harm := range map[string]func(*Run){
		"root document is missing":         func(r *Run) { r.Root = nil },
		"states for":                       func(r *Run) { r.Root.States = r.Root.States[:1] },
		"steps left":                       func(r *Run) { r.Root.Left = 9 },
		"nothing is remembered":            func(r *Run) { delete(r.Root.Live, 0) },
		"open without a box":               func(r *Run) { r.Root.Live[0].Box = nil },
		"counts 2 open scopes and has 1":   func(r *Run) { r.Root.Live[0].Box.Open = 2 },
		"is open, and none of its scopes":  func(r *Run) { r.Root.Live[0].Box.Open = 0 },
		"counts 3 open items":              func(r *Run) { r.Root.Live[1].Box.Open = 3 },
		"none of its items":                func(r *Run) { r.Root.Live[1].Box.Open = 0 },
		"results m[0:] are missing":        func(r *Run) { r.Chunks["m[0:]"] = nil },
		"waits for no timer":               func(r *Run) { r.Root.Live[2].Timer = "" },
		"nothing is under way in the open": func(r *Run) { r.Scopes["g"].States[0] = StepSucceeded },
		"remembered as under way":          func(r *Run) { r.Root.States[2] = StepSucceeded },
		"has ended and has 3 activations":  func(r *Run) { r.Status = Succeeded },
		"has ended and the scope g":        func(r *Run) { r.Status = Succeeded },
		"has ended and step 0":             func(r *Run) { r.Status = Failed },
	} {
		r := *good
		r.Root = good.Root.clone()
		r.Scopes = map[string]*Scope{"g": good.Scopes["g"].clone()}
		r.Chunks = map[string]*Chunk{"m[0:]": good.Chunks["m[0:]"]}
		harm(&r)
		if found := strings.Join(Check(def, &r), "; "); !strings.Contains(found, word) {
			t.Errorf("%s: found %q", word, found)
		}
	}
	seq := read(t, "steps:\n  - { id: a, task: h }\n  - { id: b, task: h }\n")
	r := started(t, seq)
	r.Root.States[1], r.Root.Live[1] = StepReady, &Live{}
	if found := strings.Join(Check(seq, r), "; "); !strings.Contains(found, "2 steps of the sequence") {
		t.Errorf("found %q", found)
	}
}

func TestReplayTellsWhereItFails(t *testing.T) {
	t.Parallel()
	def := read(t, "steps:\n  - { id: a, task: h }\n  - { id: b, set: { x: \"${ steps.a.output.y }\" } }\n  - { id: c, task: h }\n")
	start := Event{Kind: RunStarted, At: 1, Payload: json.RawMessage(`1`)}
	if _, err := Replay(def, Header{}, []Event{start, start}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "entry 2") {
		t.Errorf("a repeated event: %v", err)
	}
	r := started(t, def)
	r.Root.Out = map[int]Data{}
	ev := Event{Kind: TaskSucceeded, Path: "a", Attempt: 1, At: 2, Payload: json.RawMessage(`{"y":1}`)}
	next, effects, err := ApplyLoading(def, r, ev, func(Ref) (json.RawMessage, bool) { return nil, false }, nil)
	if err != nil || next.Seq != 2 || len(effects) != 2 {
		t.Errorf("what an event brings is at hand: %v %v", effects, err)
	}
	later := read(t, "steps:\n  - { id: w, wait: 1s }\n  - { id: b, set: { x: \"${ input.y }\" } }\n")
	r, _, err = Apply(later, NewRun(Header{}), start)
	if err != nil {
		t.Fatal(err)
	}
	fire := Event{Kind: TimerFired, Path: "w!wait", At: 1_000_001}
	var need *Need
	if _, _, err := Apply(later, r, fire); !errors.As(err, &need) || need.Error() == "" || need.Refs[0].Seq != 1 {
		t.Errorf("a payload that is not at hand: %v", err)
	}
	if _, _, err := ApplyLoading(later, r, fire, func(Ref) (json.RawMessage, bool) { return nil, false }, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a payload that nobody has: %v", err)
	}
	grown := read(t, "steps:\n  g: { steps: [ { id: x, task: h } ] }\n")
	r = started(t, grown)
	r.Scopes = nil
	ok := Event{Kind: TaskSucceeded, Path: "g/x", Attempt: 1, At: 2}
	if _, _, err := ApplyLoading(grown, r, ok, nil, func(string) []byte { return []byte("garbage") }); !errors.Is(err, ErrDamaged) {
		t.Errorf("a document of garbage: %v", err)
	}
}

func TestResultsHaveALimit(t *testing.T) {
	t.Parallel()
	big := json.RawMessage(`"` + strings.Repeat("x", 600) + `"`)
	load := func(Ref) (json.RawMessage, bool) { return big, true }
	d := listOf(entryData(1), entryData(2))
	if raw, err := Assemble(d, &Run{}, load, 10_000); err != nil || len(raw) != 2*602+3 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	var e *Error
	if _, err := Assemble(d, &Run{}, load, 1000); !errors.As(err, &e) || e.Code != CodeTooLarge {
		t.Errorf("%v", err)
	}
}

func TestTimesAndStatuses(t *testing.T) {
	t.Parallel()
	if at := TimeOf(time.Unix(1, 2345)); at != 1_000_002 || at.Std().UnixMicro() != 1_000_002 || !Time(0).Std().IsZero() {
		t.Errorf("%d", at)
	}
	for _, s := range "pwrotksfcgbmex" {
		if word, _ := State(s).Status(); word == "" || word == string(s) {
			t.Errorf("%c has no word", s)
		}
	}
	if word, _ := State('?').Status(); word != "?" {
		t.Errorf("an unknown state is %q", word)
	}
	if CommandHandler("host:/x") != "run@host:/x" {
		t.Error("the handler of commands names the home")
	}
	if got := (&Error{Code: "a"}).Error(); got != "a" {
		t.Error(got)
	}
	if got := clip(strings.Repeat("é", 4000)); len(got) > maxMessage || !strings.HasSuffix(got, "é") {
		t.Errorf("%d bytes", len(got))
	}
}

// F7
func TestALoopLimitThatNobodyWroteIsFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(read(t, "steps:\n  l: { loop: { until: \"false\", do: { set: { x: 1 } } }, catch: { next: c } }\n  c: { task: h }\n"))
	w.quick = true
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage("1")})
	w.finish()
	if e := w.load("", true).Root.Run.Error; w.status != Failed || e == nil || e.Code != CodeLoopLimit || !e.Final {
		t.Errorf("%s: %v", w.status, e)
	}
}

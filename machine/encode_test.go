package machine

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawData(t *rapid.T) Data {
	switch rapid.IntRange(0, 6).Draw(t, "data") {
	case 0:
		return Data{}
	case 1:
		return valueData(rapid.SampledFrom([]string{"a", `k"<é`}).Draw(t, "key"), rapid.IntRange(0, 3).Draw(t, "index"))
	case 2:
		return literal(json.RawMessage(`{"x":"<"}`))
	case 3:
		return listOf(entryData(1), Data{})
	default:
		return entryData(rapid.Int64Range(1, 1<<40).Draw(t, "entry"))
	}
}

func drawMap[V any](t *rapid.T, value func(*rapid.T) V) map[int]V {
	keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 120), 0, 4, rapid.ID[int]).Draw(t, "keys")
	if len(keys) == 0 {
		return nil
	}
	m := map[int]V{}
	for _, k := range keys {
		m[k] = value(t)
	}
	return m
}

func drawNumber(t *rapid.T) int { return rapid.IntRange(0, 12).Draw(t, "number") }

func drawLive(t *rapid.T) *Live {
	l := &Live{In: drawData(t), Err: drawData(t), Attempt: drawNumber(t), Try: drawNumber(t), Since: Time(drawNumber(t))}
	if rare(t) {
		l.Counts, l.Timer, l.Box = drawMap(t, drawNumber), "wait<", drawBox(t)
	}
	if rare(t) {
		l.Unknown, l.Parked, l.Redriven = rapid.Bool().Draw(t, "unknown"), drawError(t), drawRedriven(t)
	}
	return l
}

func drawRedriven(t *rapid.T) *Redriven {
	r := &Redriven{N: drawNumber(t), Input: drawData(t), After: drawNumber(t)}
	if rare(t) {
		r.Before = &Redriven{N: 1}
	}
	return r
}

func rare(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "rare") == 3 }

func drawError(t *rapid.T) *Error {
	if rapid.Bool().Draw(t, "no error") {
		return nil
	}
	after := int64(3)
	return &Error{
		Code: "x", Message: "<&>", Step: "a/b", Data: json.RawMessage(`{"x":"<"}`), Final: true, Permanent: true, Passing: true,
		RetryAfterMS: &after,
	}
}

func drawClosing(t *rapid.T) *Closing {
	return &Closing{
		Reason: ByFailure, Err: drawError(t), NoLetter: rapid.Bool().Draw(t, "no letter"), Given: rapid.Bool().Draw(t, "given"),
		Output: drawData(t), First: drawNumber(t),
	}
}

func drawBox(t *rapid.T) *Box {
	n := drawNumber(t)
	return &Box{
		Catch: n, Case: n, N: 2, Next: n, Open: n, Good: n, Bad: n, Need: n, Limit: n, Outs: []Data{drawData(t)}, Prev: drawData(t),
		Stop: drawClosing(t), Mark: n, Undo: drawUndoing(t), Undone: n > 3, Kept: n > 3, Began: n > 4, Parked: n,
	}
}

func drawUndoing(t *rapid.T) *Undoing {
	if rapid.Bool().Draw(t, "no plan") {
		return nil
	}
	n := drawNumber(t)
	d := &Undoing{Top: n, Mark: n, First: n, Err: drawData(t), Cause: drawError(t), Once: []string{"void<"}}
	if rapid.Bool().Draw(t, "in hand") {
		d.Task = &UndoTask{Record: n, Stuck: n > 3, Was: StepSucceeded, Live: Live{Attempt: n, Counts: map[int]int{0: n}}}
	}
	return d
}

func drawDone(t *rapid.T) Done {
	n := drawNumber(t)
	d := Done{Path: "a<[3]/b", Attempt: n, Out: drawData(t), Err: drawData(t), Env: drawEnv(t)}
	d.How = rapid.SampledFrom([]How{ForSure, Answered, Unsure}).Draw(t, "how")
	d.Fate = rapid.SampledFrom([]Fate{Undoable, Undone, PassedOver, SetAside, GaveUp, Redoing, GivenUp}).Draw(t, "fate")
	if rare(t) {
		d.Now, d.Live = "a~2", &Live{Attempt: n}
	}
	return d
}

func drawRun(t *rapid.T) *RunDoc {
	n := drawNumber(t)
	r := &RunDoc{Activations: n, Output: drawData(t)}
	if rare(t) {
		r.Error, r.Events = drawError(t), map[string]Fact{"a/b": {Seq: 1, Hash: "h"}}
	}
	if rare(t) {
		r.Undo = &UndoDoc{Base: n, Log: []Done{drawDone(t), drawDone(t)}, Safe: n, Unknown: n, Dropped: n, Stuck: n, Extra: []int{n}}
	}
	if rare(t) {
		r.Control = &ControlDoc{
			Under: Running, PausedAt: Time(n), SetAside: []string{"a!wait"}, Deadline: Time(n), Parked: n,
			Letters: map[LetterKind]int{LetterUnknown: n}, Finally: []string{"finally/x"}, Answered: n > 3, Late: map[string][]int{"a": {1, 2}},
			LateOut: map[string]Data{"a": drawData(t)}, Finals: n, Retries: n,
			Final: &Final{Ending: Dead, Err: drawError(t), NoLetter: n > 3, Output: drawData(t), Over: n > 3},
		}
	}
	return r
}

func drawEnv(t *rapid.T) Env {
	e := Env{Prev: drawData(t), Input: drawData(t)}
	if rare(t) {
		e.Error, e.Pass = drawData(t), &PassEnv{Number: 1, Previous: drawData(t)}
		e.Steps = map[string]StepEnv{"a": {Output: drawData(t), Status: "succeeded", Error: drawData(t), Failed: drawData(t)}}
		e.Items = map[string]ItemEnv{"it": {Value: drawData(t), Index: drawNumber(t)}}
	}
	if rare(t) {
		n := drawNumber(t)
		e.Undone = &UndoneEnv{Path: "a", Attempt: n, Output: drawData(t), Done: n > 3, Redriven: &Redriven{N: n}, Error: drawData(t)}
		e.Redriven, e.Ending = &Redriven{N: n, Input: drawData(t)}, Failed
	}
	return e
}

// drawScope gives a document with any of its fields, most often with those that most documents have.
func drawScope(t *rapid.T) *Scope {
	s := &Scope{
		States: rapid.SliceOfN(rapid.SampledFrom([]State{StepPending, StepReady, StepSucceeded}), 0, 8).Draw(t, "states"),
		Left:   drawNumber(t), In: drawData(t), Out: drawMap(t, drawData), Errs: drawMap(t, drawData), Live: drawMap(t, drawLive),
		Joins: drawMap(t, func(t *rapid.T) *Tally { return &Tally{drawNumber(t), drawNumber(t), drawNumber(t)} }),
		Mark:  drawNumber(t),
	}
	if len(s.States) == 0 {
		s.States = nil
	}
	if rapid.Bool().Draw(t, "root") {
		s.Run = drawRun(t)
	}
	if rare(t) {
		s.Got, s.Choice, s.Visits = drawMap(t, drawData), drawMap(t, drawNumber), drawMap(t, drawNumber)
		s.Blame, s.Caught = map[int][]int{3: {1, 2}}, drawData(t)
		s.Item, s.Pass = &ItemEnv{Value: drawData(t), Index: 1}, &PassEnv{Number: 2, Previous: drawData(t)}
		s.Stop, s.Undo = drawClosing(t), drawUndoing(t)
	}
	if rare(t) {
		s.Page = []Done{drawDone(t)}
	}
	return s
}

// K2
func TestDocumentsAreWrittenAndReadAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScope(t)
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(s.encode())); diff != "" {
			t.Fatalf("written (-want +got):\n%s", diff)
		}
		plain := &Scope{}
		if err := json.Unmarshal(want, plain); err != nil {
			t.Fatal(err)
		}
		got, err := decodeScope("", want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Fatalf("read (-want +got):\n%s", diff)
		}
	})
}

func TestEnvironmentsAreWrittenAndReadAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := drawEnv(t)
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		written, err := EncodeEnv(&e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(written)); diff != "" {
			t.Fatalf("written (-want +got):\n%s", diff)
		}
		var plain Env
		if err := json.Unmarshal(want, &plain); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeEnv(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Fatalf("read (-want +got):\n%s", diff)
		}
	})
}

// A field that nobody draws would be written wrongly without a test that says so.
func TestEveryFieldOfADocumentIsDrawn(t *testing.T) {
	t.Parallel()
	types, seen := map[reflect.Type]bool{}, map[string]bool{}
	var note func(v reflect.Value)
	note = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				note(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				note(v.Index(i))
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				note(it.Value())
			}
		case reflect.Struct:
			types[v.Type()] = true
			for i := range v.NumField() {
				if f := v.Type().Field(i); !v.Field(i).IsZero() {
					seen[v.Type().Name()+"."+f.Name] = true
					note(v.Field(i))
				}
			}
		default:
		}
	}
	scopes := rapid.Custom(drawScope)
	for seed := range 2000 {
		note(reflect.ValueOf(scopes.Example(seed)))
	}
	for typ := range types {
		for field := range typ.Fields() {
			name := typ.Name() + "." + field.Name
			if typ != reflect.TypeFor[Data]() && typ != reflect.TypeFor[Made]() && name != "Scope.Path" && !seen[name] {
				t.Errorf("%s is never drawn", name)
			}
		}
	}
}

// What is damaged, or written otherwise, is read or refused as encoding/json would.
func FuzzDocuments(f *testing.F) {
	for _, doc := range []string{
		`{"s":"r1p4","i":1,"l":{"0":{"i":1}},"r":{"a":1}}`, `{"s":"s1","w":03}`, `{"s":"s1","o":{"0":0}}`, `{"s":"s1","l":{}}`,
		`{"s":"s1",}`, `{"w":1,"s":"s1"}`, `{"s":"s\u0031"}`, `{}`, `{"s":"s1"} `, `{"s":"s1","o":{"00":1}}`, `{"p":1,"i":2}`,
		"{\"s\":\"\x011\"}", "{\"s\":\"\xff1\"}",
		`{"s":"s1","j":{"1":{"t":1},"1":{}}}`,
		`{"s":"","t":[{"p":"a","a":1,"h":"u","s":"g","o":3,"e":{"p":2}}]}`, `{"s":"v1","m":3,"u":{"t":2,"f":1,"k":{"r":0,"l":{"a":1},"s":true}}}`,
		`{"s":"P1","l":{"0":{"a":1,"u":true,"k":{"code":"x"},"r":{"n":1,"i":2}}},"r":{"u":{"b":16,"l":[{"p":"a"}],"r":[0]},"c":{"u":"running","k":{"compensation":1},"l":{"a":[1]}}}}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		plain := &Scope{}
		wrong := json.Unmarshal(doc, plain)
		got, err := decodeScope("", doc)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", doc, err, wrong)
		}
		if err == nil && !cmp.Equal(plain, got) {
			t.Fatalf("%q: %s", doc, cmp.Diff(plain, got))
		}
	})
}

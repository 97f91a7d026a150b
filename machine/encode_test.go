package machine

import (
	"encoding/json"
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
		return Data{Kind: Literal, Const: json.RawMessage(`{"x":"<"}`)}
	case 3:
		return Data{Kind: ListOf, List: []Data{entryData(1), {}}}
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
	if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
		l.Counts, l.Timer, l.Box = drawMap(t, drawNumber), "wait<", &Box{N: 2, Outs: []Data{drawData(t)}}
	}
	return l
}

// drawScope gives a document with any of its fields, most often with those that most documents have.
func drawScope(t *rapid.T) *Scope {
	s := &Scope{
		States: rapid.SliceOfN(rapid.SampledFrom([]State{StepPending, StepReady, StepSucceeded}), 0, 8).Draw(t, "states"),
		Left:   drawNumber(t), In: drawData(t), Out: drawMap(t, drawData), Errs: drawMap(t, drawData), Live: drawMap(t, drawLive),
		Joins: drawMap(t, func(t *rapid.T) *Tally { return &Tally{drawNumber(t), drawNumber(t), drawNumber(t)} }),
	}
	if len(s.States) == 0 {
		s.States = nil
	}
	if rapid.Bool().Draw(t, "root") {
		s.Run = &RunDoc{Activations: drawNumber(t), Output: drawData(t)}
	}
	if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
		s.Got, s.Choice, s.Visits = drawMap(t, drawData), drawMap(t, drawNumber), drawMap(t, drawNumber)
		s.Blame, s.Caught = map[int][]int{3: {1, 2}}, drawData(t)
		s.Item, s.Pass = &ItemEnv{Value: drawData(t), Index: 1}, &PassEnv{Number: 2, Previous: drawData(t)}
		s.Stop = &Closing{Reason: ByFailure, Err: &Error{Code: "x", Message: "<&>"}}
		s.Run = &RunDoc{Error: &Error{Code: "y"}, Events: map[string]Fact{"a/b": {Seq: 1, Hash: "h"}}}
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
		e := Env{Prev: drawData(t), Input: drawData(t)}
		if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
			e.Error, e.Pass = drawData(t), &PassEnv{Number: 1}
			e.Steps = map[string]StepEnv{"a": {Output: drawData(t), Status: "succeeded"}}
			e.Items = map[string]ItemEnv{"it": {Value: drawData(t)}}
		}
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

// What is damaged, or written otherwise, is read or refused as encoding/json would.
func FuzzDocuments(f *testing.F) {
	for _, doc := range []string{
		`{"s":"r1p4","i":1,"l":{"0":{"i":1}},"r":{"a":1}}`, `{"s":"s1","w":03}`, `{"s":"s1","o":{"0":0}}`, `{"s":"s1","l":{}}`,
		`{"s":"s1",}`, `{"w":1,"s":"s1"}`, `{"s":"s\u0031"}`, `{}`, `{"s":"s1"} `, `{"s":"s1","o":{"00":1}}`, `{"p":1,"i":2}`,
		"{\"s\":\"\x011\"}", "{\"s\":\"\xff1\"}",
		`{"s":"s1","j":{"1":{"t":1},"1":{}}}`,
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

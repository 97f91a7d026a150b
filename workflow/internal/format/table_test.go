package format

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// The tables hold together: what is generated from them later can rely on it.
func TestTheTablesHoldTogether(t *testing.T) {
	t.Parallel()
	for of, keys := range format {
		seen := map[string]bool{}
		for i := range keys {
			e := &keys[i]
			if seen[e.name] {
				t.Errorf("%s has %s twice", of, e.name)
			}
			seen[e.name] = true
			if e.says == "" || !strings.HasSuffix(e.says, ".") {
				t.Errorf("%s of %s is not described by a sentence", e.name, of)
			}
			if e.actions != nil && e.instead == "" {
				t.Errorf("%s of %s is refused without a remedy", e.name, of)
			}
			for _, action := range e.actions {
				if !IsAction(action) {
					t.Errorf("%s belongs to %s, which is no action", e.name, action)
				}
			}
			for s := range e.shapes {
				places(t, of, e, &e.shapes[s])
			}
		}
	}
	for of, words := range foreigners {
		for _, f := range words {
			if format[of] == nil || formatIndex[of][f.spelling] != nil || f.remedy == "" {
				t.Errorf("%s of %s is foreign, known, or has no remedy", f.spelling, of)
			}
		}
	}
}

func places(t *testing.T, of string, e *entry, s *shape) {
	t.Helper()
	if s.kind == place && format[s.of] == nil {
		t.Errorf("%s of %s leads to the place %q, which is not described", e.name, of, s.of)
	}
	if (s.kind == list || s.kind == table) != (len(s.items) > 0) {
		t.Errorf("%s of %s: only lists and tables have items, and all of them", e.name, of)
	}
	for i := range s.items {
		places(t, of, e, &s.items[i])
	}
}

func TestTheActionsOfThisVersion(t *testing.T) {
	t.Parallel()
	want := []string{"task", "run", "shell", "http", "set", "wait", "switch", "steps", "parallel", "map", "loop", "savepoint", "fail", "end"}
	if diff := cmp.Diff(want, Actions()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		action, key string
		ok          bool
	}{{"task", "with", true}, {"set", "with", false}, {"task", "title", true}, {"task", "nonsense", true}, {"wait", "timeout", true}, {"map", "queue", false}} {
		if ok, instead := Takes(c.action, c.key); ok != c.ok || ok != (instead == "") {
			t.Errorf("%s takes %s: %v, %q", c.action, c.key, ok, instead)
		}
	}
}

// D7: the examples of the reference page are right by the tables that it is made of.
func TestTheExamplesAreRight(t *testing.T) {
	t.Parallel()
	for of, keys := range format {
		for i := range keys {
			e := &keys[i]
			l := &document.Ledger{File: "example.yaml"}
			read := l.Read([]byte("key: " + e.example + "\n"))
			if len(read) != 1 {
				t.Errorf("the example of %s in %s is no YAML: %v", e.name, of, l.Err())
				continue
			}
			if (&checker{l}).fits(read[0].Items[0], e.shapes, e.name); l.Count() > 0 {
				t.Errorf("the example of %s in %s is wrong: %v", e.name, of, l.Err())
			}
		}
		if placeTitles[of] == "" || !slices.Contains(placeOrder, of) {
			t.Errorf("the reference page does not tell about %s", of)
		}
	}
}

// The canonical form of a canonical form is the same.
func TestTheCanonicalFormIsStable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"workflow":"w","steps":{"b":{"after":"a","task":"t"},"a":{"retry":4,"timeout":"90s","shell":"x","env":{"B":1,"A":2},"codes":{"9":"x","10":"y"}}}}`,
		`{"steps":[{"catch":{"next":"end","only":"a"},"end":{}},{"map":{"over":"[1]","as":"item","tolerate":"5.0%","do":{"wait":"PT1H"}}}],"workflow":"w"}`,
		`{"workflow":"w","steps":[{"loop":{"limit":3,"do":{"fail":{"code":"failed","message":7}}},"retry":{"factor":2.0,"delays":["60s"]}}]}`,
	} {
		n, err := document.ParseJSON([]byte(text), document.MaxNesting)
		if err != nil {
			t.Fatal(err.Reason)
		}
		once := Canonical(n, "workflow")
		again := Canonical(once, "workflow")
		if diff := cmp.Diff(string(once.Raw()), string(again.Raw())); diff != "" {
			t.Error(diff)
		}
		l := &document.Ledger{File: "w.json"}
		if Check(l, once, "workflow"); l.Count() > 0 {
			t.Errorf("the canonical form has mistakes: %v", l.Err())
		}
	}
}

func TestEveryDurationIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0s", "250ms", "1m30s", "1h30m", "7d", "2w3d", "1us", "5ns", "5214w2d"} {
		d, err := ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseDuration(FormatDuration(d))
		if err != nil || back != d {
			t.Errorf("%s is written as %s, which reads as %v, %v", text, FormatDuration(d), back, err)
		}
	}
	if got := FormatDuration(9*day + 90*1e9); got != "9d1m30s" {
		t.Errorf("got %s", got)
	}
}

func TestPercentagesAndKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"5%": 5, " 12.5 %": 12.5, "100%": 100, "5": -1, "%": -1, "-1%": -1, "1e2%": -1} {
		if got := Percentage(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	if !IsKey("a_B-9") || IsKey("") || IsKey("a b") || slices.ContainsFunc(stepEntries, func(e entry) bool { return !IsKey(e.name) }) {
		t.Error("keys are letters, digits, _ and -")
	}
}

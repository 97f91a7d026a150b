package workflow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

const oneStep = "workflow: w\nsteps: { a: { task: a } }\n"

func message(t *testing.T, file, text string) string {
	t.Helper()
	_, err := workflow.Read(file, []byte(text))
	if err == nil {
		return ""
	}
	var mistakes *workflow.Mistakes
	if !errors.As(err, &mistakes) {
		t.Fatalf("%v is no *workflow.Mistakes", err)
	}
	return err.Error()
}

// docs/format.md 4: YAML 1.2 with exact numbers.
func TestScalarsAreReadByTheRulesOfYAML12(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"true": "true", "false": "false", "True": `"True"`, "yes": `"yes"`, "no": `"no"`, "on": `"on"`, "null": "null", "~": "null", "": "null", "Null": "null",
		"1": "1", "-1": "-1", "1.50": "1.50", "1e5": "1e5", "1E+05": "1E+05", "-0": "-0", "12345678901234567890.10": "12345678901234567890.10",
		"2024-01-01": `"2024-01-01"`, "12:30:45": `"12:30:45"`, "1.2.3": `"1.2.3"`, "1s": `"1s"`, "'1'": `"1"`, `"1"`: `"1"`, "v1": `"v1"`,
		"{a: 1}": `{"a":1}`, "[a, 'b']": `["a","b"]`, "0x": `"0x"`, "1-2": `"1-2"`, "é": `"é"`, `"\u00e9\n"`: `"é\n"`,
		"|\n        x\n         y\n": `"x\n y\n"`, ">-\n        x\n        y\n": `"x y"`, "{402: x, true: y, null: z}": `{"402":"x","true":"y","null":"z"}`,
	} {
		d, err := workflow.Read("w.yaml", []byte("workflow: w\nsteps:\n  a:\n    task: a\n    with:\n      v: "+text+"\n"))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := string(d.Steps[0].With.Raw()); got != `{"v":`+want+`}` {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"0123", "00", "0x1F", "0o17", "0b11", ".5", "5.", "+5", "1_000", "-.5", ".inf", "-.INF", ".nan", "1_0.5", "-0123", "+1e5", "1.e5"} {
		got := message(t, "w.yaml", "workflow: w\nsteps: { a: { task: a, with: { v: "+text+" } } }\n")
		if !strings.Contains(got, "w.yaml:2:35: "+text+" is a number to some readers") || !strings.Contains(got, fmt.Sprintf("quote it (%q)", text)) || strings.Contains(got, "\n") {
			t.Errorf("%s gives %q", text, got)
		}
	}
}

func TestReadingYAMLIsBounded(t *testing.T) {
	t.Parallel()
	var laughs, steps strings.Builder
	laughs.WriteString("x-a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&laughs, "x-a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	for i := range 10_001 {
		fmt.Fprintf(&steps, "  s%d: { task: t }\n", i)
	}
	deep := "{ task: t }"
	for range 20 {
		deep = "{ steps: [" + deep + "] }"
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"size":                {"w.yaml", strings.Repeat("#", 1<<20+1), "w.yaml:1:1: the file is larger than 1 MiB"},
		"depth":               {"w.yaml", "workflow: w\nx-a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n", "w.yaml:2:69: values are nested deeper than 64"},
		"depth of JSON":       {"w.json", `{"x-a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", "w.json:1:71: values are nested deeper than 64"},
		"aliases":             {"w.yaml", "workflow: w\n" + laughs.String(), "holds more than 250,000 values"},
		"values of JSON":      {"w.json", `{"x-a":[` + strings.Repeat("1,", 300_000) + `1]}`, "holds more than 250,000 values"},
		"an alias in itself":  {"w.yaml", "workflow: w\nx-a: &a [*a]\n", "w.yaml:2:6: an alias stands inside what it names"},
		"an unknown alias":    {"w.yaml", "workflow: *w\n", "unknown anchor"},
		"a list as key":       {"w.yaml", "workflow: w\nx-a: { [a]: b }\n", "a key must be text"},
		"an alias as key":     {"w.yaml", "x-a: &k workflow\n*k : w\nsteps: { a: { task: a } }\n", ""},
		"steps":               {"w.yaml", "workflow: w\nsteps:\n" + steps.String(), "w.yaml:10003:11: a workflow has at most 10,000 steps"},
		"bodies":              {"w.yaml", "workflow: w\nsteps: [" + deep + "]\n", "bodies are nested deeper than 16"},
		"NUL":                 {"w.yaml", "workflow: w\nsteps: { a: { task: \"a\\0\" } }\n", "w.yaml:2:21: a text holds the character NUL"},
		"NUL in JSON":         {"w.json", `{"workflow":"\u0000"}`, "w.json:1:13: a text holds the character NUL"},
		"a control character": {"w.yaml", "workflow: w\x01\n", "control characters are not allowed"},
		"not UTF-8":           {"w.yaml", "workflow: w\nsteps: \xff\n", "w.yaml:2:8: the text is not valid UTF-8"},
		"UTF-16":              {"w.yaml", "\xff\xfew\x00o\x00", "w.yaml:1:1: the text is not valid UTF-8"},
		"a byte order mark":   {"w.yaml", "\ufeff" + oneStep, ""},
		"braces of YAML":      {"w.yaml", "{workflow: w, steps: {a: {task: a}}}", ""},
		"braces of JSON":      {"w.yaml", `{"workflow": "w", "steps": {"a": {"task": "\/a"}}}`, ""},
		"line ends of DOS":    {"w.yaml", strings.ReplaceAll(oneStep, "\n", "\r\n"), ""},
		"text behind JSON":    {"w.json", `{"workflow":"w"} x`, "w.json:1:18: something follows the JSON value"},
		"half a pair":         {"w.json", `{"workflow":"\ud800"}`, "half of a surrogate pair"},
		"broken second part":  {"w.yaml", oneStep + "---\n\t- x", "not valid YAML"},
		"null":                {"w.yaml", "null", "a workflow file is an object, not null"},
		"only a mark":         {"w.yaml", "---\n", "the file is empty"},
		"nothing":             {"w.yaml", "", "the file is empty"},
		"nothing as JSON":     {"w.json", "", "w.json:1:1: this is not valid JSON"},
		"at sign":             {"w.yaml", "workflow: @w\n", "put the text into quotes"},
		"colon in text":       {"w.yaml", "workflow: w: x\n", "must be in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := message(t, c.file, c.text); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got  %.300s\nwant %s", got, c.want)
			}
		})
	}
}

// D5: hostile files of full size are refused or read in bounded time: each takes a second or two of one core, and the limit
// leaves room for the race detector on a machine that is busy.
func TestHostileFilesTakeBoundedTime(t *testing.T) {
	t.Parallel()
	const size = 1<<20 - 100
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var chain, after, jumps, mistakes strings.Builder
	chain.WriteString("workflow: w\nsteps:\n")
	chain.WriteString("  s0: { task: t }\n  s1: { after: s0, task: t }\n")
	for i := 2; i < 10_000; i++ {
		fmt.Fprintf(&chain, "  s%d: { after: [s%d, s%d], task: t, with: \"${ steps.s%d.output.x }\" }\n", i, i-1, i-2, i-1)
	}
	after.WriteString("workflow: w\nsteps:\n")
	for i := range 4900 {
		fmt.Fprintf(&after, "  s%d: { task: t, catch: { next: z%d } }\n  z%d: { task: t }\n", i, i, i)
	}
	after.WriteString("  end_: { task: t, after: [")
	for i := 0; after.Len() < size; i++ {
		fmt.Fprintf(&after, "s%d,", i%4900)
	}
	after.WriteString("] }\n")
	jumps.WriteString("workflow: w\nsteps:\n")
	for i := 0; jumps.Len() < size-200; i++ {
		fmt.Fprintf(&jumps, "  - { id: s%d, switch: [{ when: input.x, next: s%d }, { next: s%d }] }\n", i, (i*7919)%9000, (i*104729)%9000)
	}
	mistakes.WriteString("workflow: w\nsteps:\n")
	for i := 0; mistakes.Len() < size && i < 10_000; i++ {
		fmt.Fprintf(&mistakes, "  s%d: { after: nowhere%d, task: t, when: steps.unknown%d.output.x }\n", i, i, i)
	}
	for name, text := range map[string]string{
		"chain": chain.String(), "after": after.String(), "jumps": jumps.String(), "mistakes": mistakes.String(),
		"brackets": fill("["), "braces": fill("{a: "), "dashes": fill("- "), "questions": fill("? "), "anchors": fill("&a "), "quotes": fill("\"\n"),
		"bangs": fill("!"), "spaces": fill(" "), "lines": fill("a\n"), "comments": fill("#\n"), "documents": fill("---\n"), "keys": "x-a:\n" + fill("  k: 1\n"),
		"one text": "workflow: w\nsteps: { a: { task: a, with: \"" + fill("${ input.x }") + "\" } }",
		"one name": "workflow: " + fill("w"), "unknown": "workflow: w\nsteps: { a: { " + fill("timeou") + ": 1 } }",
	} {
		t.Run(name, func(t *testing.T) { // one at a time: each is measured
			began := time.Now()
			_, err := workflow.Read("w.yaml", []byte(text))
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if err != nil && len(err.Error()) > 200_000 {
				t.Errorf("a report of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestReportsAreSortedAndBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("workflow: w\nsteps:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "  s%d: { task: t, nonsense: 1 }\n", i)
	}
	_, err := workflow.Read("w.yaml", []byte(b.String()))
	var mistakes *workflow.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes.List) != 200 {
		t.Fatalf("got %v", err)
	}
	for i, m := range mistakes.List {
		if m.Line != i+3 {
			t.Errorf("mistake %d is on line %d", i, m.Line)
		}
	}
	if last := mistakes.List[199]; !strings.Contains(last.Message, "301 more mistakes") {
		t.Errorf("the last says %q", last.Message)
	}
}

// D1: names have 1 to 255 characters without control characters or surrounding space.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"w": "", "my workflow, the second": "", strings.Repeat("é", 255): "", "é/~#": "",
		strings.Repeat("é", 256): "longer than 255", " w": "begins or ends with space", "w ": "begins or ends with space", "": "is empty", `a\tb`: "control character", `a\u0085b`: "control character",
	} {
		got := message(t, "w.yaml", "workflow: \""+name+"\"\nsteps: { a: { task: a } }\n")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%.20q gives %q, want %q", name, got, want)
		}
	}
	for key, want := range map[string]string{
		"a": "", "A_b-9": "", strings.Repeat("k", 255): "", strings.Repeat("k", 256): "cannot be the key", "a.b": "cannot be the key", "a b": "cannot be the key", "é": "cannot be the key", "end": "may not be called", "": "cannot be the key",
	} {
		got := message(t, "w.yaml", "workflow: w\nsteps: { \""+key+"\": { task: a } }\n")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("the key %.20q gives %q, want %q", key, got, want)
		}
	}
}

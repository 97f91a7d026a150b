package arguments

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

func environment(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

func TestVarsComeFromTheCommandLineElseTheEnvironment(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	def := &workflow.Definition{Vars: []workflow.Var{
		{Name: "url", Default: raw(`"http://a.test"`)},
		{Name: "limit", Default: raw("3")},
		{Name: "dry-run", Default: raw("false")},
		{Name: "required"},
		{Name: "list", Default: raw("[]")},
	}}
	lookup := environment(map[string]string{
		"MILLRACE_VAR_URL": "http://b.test", "MILLRACE_VAR_DRY_RUN": "true", "MILLRACE_VAR_limit": "5", "MILLRACE_VAR_OTHER": "x",
	})
	got, err := Vars{values: []string{"limit=7.50", "required=12", `list=["a=b"]`}}.Build(def, lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{
		"url": raw(`"http://b.test"`), "limit": raw("7.50"), "dry-run": raw("true"), "required": raw(`"12"`), "list": raw(`["a=b"]`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, values := range [][]string{{"limit=many"}, {"nothing"}, {"=3"}} {
		if _, err := (Vars{values: values}).Build(def, lookup); !isMistake(err) {
			t.Errorf("%q: %v, want a mistake", values, err)
		}
	}
}

func isMistake(err error) bool {
	m, ok := errors.AsType[*Mistake](err)
	return ok && m.Hint != ""
}

func TestLabelsAreNamesWithValues(t *testing.T) {
	t.Parallel()
	got, err := Labels{values: []string{"env=prod", "note=a=b", "env=prod"}}.Build()
	if diff := cmp.Diff(map[string]string{"env": "prod", "note": "a=b"}, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	for _, values := range [][]string{{"env"}, {"=x"}, {"env=a", "env=b"}} {
		if _, err := (Labels{values: values}).Build(); !isMistake(err) {
			t.Errorf("%q: %v, want a mistake", values, err)
		}
	}
}

// A secret is found in the file, else in the environment; a mistake in the file never shows what stands there.
// O5
func TestSecretsComeFromTheFileElseTheEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# comment\n\nTOKEN=abc=def\nexport KEY = \"two\\nlines\"\nEMPTY=\n")
	find, err := Secrets{file: file}.Find(environment(map[string]string{"MILLRACE_SECRET_TOKEN": "no", "MILLRACE_SECRET_DB_PASS": "pw"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"TOKEN": "abc=def", "KEY": "two\nlines", "EMPTY": "", "db-pass": "pw"} {
		if got, ok := find(name); got != want || !ok {
			t.Errorf("%s is %q, %v, want %q", name, got, ok, want)
		}
	}
	if got, ok := find("none"); ok {
		t.Errorf("none is %q", got)
	}
	for _, text := range []string{"hunter2\n", "A=\"hunter2\n", "=hunter2\n"} {
		write(text)
		if _, err := (Secrets{file: file}).Find(nil); !isMistake(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := (Secrets{file: file + "x"}).Find(nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestMomentsAreTimesOrAges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-03-01T08:00:00Z": time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		"90m":                  now.Add(-90 * time.Minute),
		"7d":                   now.AddDate(0, 0, -7),
	} {
		if got, err := Moment("--since", text, now); got != machine.TimeOf(want) || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got.Std(), err, want)
		}
	}
	if _, err := Moment("--since", "yesterday", now); !isMistake(err) {
		t.Errorf("yesterday: %v, want a mistake", err)
	}
}

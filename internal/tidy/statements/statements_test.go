package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestThePageOfThisHouseIsFresh(t *testing.T) {
	t.Parallel()
	if err := run([]string{"-root", filepath.Join("..", "..", ".."), "-check"}, io.Discard); err != nil {
		t.Error(err)
	}
}

const small = `# Statements

<!-- summary: written by make docs -->
old
<!-- end of summary -->

- **D1** [1] Names are short.
  - held by ` + "`gone`" + ` TestGone
- **D2** + [2] Versions stay.
- **F1** [1] Joins join.
`

func tree() fstest.MapFS {
	return fstest.MapFS{
		"flow/join_test.go": {Data: []byte(`package flow

// TestJoins holds much.
//
// F1, D1
func TestJoins() {
	_ = 1 // F1: again
	_ = 2 // the cell D2 of a table is no mark, and neither is Z9
}

// TestOther speaks of joins (F1 and D2).
func TestOther() {}
`)},
		"flow/join.go":                       {Data: []byte("package flow\n\n// D2\n")},
		"cmd/tool/testdata/run.txtar":        {Data: []byte("# D1 from the outside\nexec tool\n-- file.yaml --\n# D2\n")},
		"flow/testdata/transcripts/join.txt": {Data: []byte("# F1: joins\n\nstart\n----\nD2\n")},
		"flow/testdata/notes.txt":            {Data: []byte("# D2\n")},
		"flow/testdata/data_test.go":         {Data: []byte("package data\n\n// D2\n")},
		"internal/tidy/x_test.go":            {Data: []byte("package x\n\n// D2\n")},
		"vendor/x/x_test.go":                 {Data: []byte("package x\n\n// D2\n")},
		"store/storetest/contract.go":        {Data: []byte("package storetest\n\n// D2\nvar x = 1\n")},
		"store/storetest/sub/suites.go":      {Data: []byte("package sub\n\n// F1\nvar x = 1\n")},
	}
}

func TestRenderNamesTheTestsBelowEachStatement(t *testing.T) {
	t.Parallel()
	p, err := Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := Scan(tree())
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Render(marks)
	if err != nil {
		t.Fatal(err)
	}
	want := `# Statements

<!-- summary: written by make docs -->
| stage | statements | held |
|---:|---:|---:|
| 1 | 2 | 2 |
| 2 | 1 | 1 |
<!-- end of summary -->

- **D1** [1] Names are short.
  - held by ` + "`cmd/tool` run.txtar; `flow`" + ` TestJoins
- **D2** + [2] Versions stay.
  - held by ` + "`flow` TestOther; `store/storetest`" + ` contract.go
- **F1** [1] Joins join.
  - held by ` + "`flow`" + ` TestJoins, TestOther, join.txt
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	again, err := Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := again.Render(marks); err != nil || twice != got {
		t.Errorf("rendering what was rendered changes it (%v):\n%s", err, cmp.Diff(got, twice))
	}
}

func TestMistakesOfThePageAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, want string }{
		"twice":      {small + "- **F1** [1] Joins join.\n", "F1 stands twice"},
		"shape":      {small + "- **F2** Joins join.\n", "- **ID** [stage] text"},
		"no summary": {"- **F2** [1] Joins join.\n", "there must be a line"},
		"no end":     {strings.Replace(small, summaryEnd, "", 1), "there must be a line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(c.page); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAMarkThatNamesNothingIsAnError(t *testing.T) {
	t.Parallel()
	p, err := Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Render([]Mark{{ID: "F77", Dir: "flow", Test: "TestJoins", File: "flow/join_test.go"}})
	if err == nil || !strings.Contains(err.Error(), "flow/join_test.go names the statement F77") {
		t.Errorf("got %v", err)
	}
}

func TestTheCommandWritesChecksAndNamesWhatIsDue(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(page, small)
	write("flow/join_test.go", "package flow\n\n// F1\nfunc TestJoins() {}\n")

	steps := []struct {
		args []string
		want string // in the error; "" for none
	}{
		{[]string{"-check"}, "is old: run make docs"},
		{[]string{"-due", "1"}, "no test holds D1"},
		{nil, ""},
		{[]string{"-check"}, ""},
		{[]string{"-due", "2"}, "no test holds D1, D2"},
		{[]string{"-unknown"}, "not defined"},
		{[]string{"-root", filepath.Join(root, "absent")}, "read the statements"},
	}
	for _, s := range steps {
		err := run(append([]string{"-root", root}, s.args...), io.Discard)
		switch {
		case s.want == "" && err != nil:
			t.Errorf("%v: %v", s.args, err)
		case s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)):
			t.Errorf("%v: got %v, want %q in it", s.args, err, s.want)
		}
	}
	write("flow/join_test.go", "package flow\n\n// F1, D1\nfunc TestJoins() {}\n")
	if err := run([]string{"-root", root, "-due", "1"}, io.Discard); err != nil {
		t.Errorf("all that is due is held, and yet: %v", err)
	}
}

package examples_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// X2, X3, X14: a compensation sees what its step saw, wherever that stood; without `with` it gets the key, the input and the output
// of the step and the error that began it all; the newest is undone first; and `finally` comes after all of it.
func TestCompensationsSeeWhatTheirStepsSaw(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	exit, e := do[ended](t, filepath.Join(folder, "m.db"), "run", "testdata/undo/names.yaml", "-i", "log="+log)
	e.mustHaveFailed(t, "exit_7")
	if exit != 1 {
		t.Errorf("status %d", exit)
	}
	want := []string{
		`without with: {"key":"RUN-3547cb112ac4489a","input":{"n":7},"output":null,"error":{"code":"exit_7","message":"sh ended with status 7","step":"last","data":null}}`,
		`whole: inside`,
		`shared: 1 mine exit_7 x`,
		`case: 9 1`,
		`catch: oops oops exit_7`,
		`branch: 1 left`,
		`pass: 2 y x`,
		`pass: 1 x none`,
		`items: y y y`,
		`items: x x x`,
		`item: y1 21 1 y2`,
		`item: y1 10 1 y1`,
		`item: x0 21 1 x2`,
		`item: x0 10 1 x1`,
		`finally: failed exit_7 1`,
		``,
	}
	got := regexp.MustCompile(`"key":"[-0-9a-f]{36}`).ReplaceAllString(read(t, log), `"key":"RUN`)
	if diff := cmp.Diff(want, strings.Split(got, "\n")); diff != "" {
		t.Errorf("what was said (-want +got):\n%s", diff)
	}
}

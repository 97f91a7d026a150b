package tidy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/tidy"
)

func TestTheHouseIsTidy(t *testing.T) {
	t.Parallel()
	found, err := tidy.Check(filepath.Join("..", ".."), tidy.Millrace())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// Each folder of testdata/trees is a small module whose faults are marked where they are: `// want: rule` on the line of
// the fault, `// want above: rule` below it, several rules with commas.
func TestEachRuleFindsItsFaultAndNothingElse(t *testing.T) {
	t.Parallel()
	house := tidy.House{
		Module: "example.test/m",
		Limits: tidy.Limits{Func: 8, File: 60, Package: 70, Interface: 3, P90: 6},
		Rooms: []tidy.Room{
			{Path: "."},
			{Path: "pure", Pure: true},
			{Path: "short", Short: true},
			{Path: "lower"},
			{Path: "upper", Uses: []string{"lower"}, Tests: []string{"beside"}},
			{Path: "beside", Uses: []string{"."}},
			{Path: "top/...", Uses: []string{"..."}},
			{Path: "top/inner/strict"},
		},
	}
	trees, err := filepath.Glob(filepath.Join("testdata", "trees", "*"))
	if err != nil || len(trees) == 0 {
		t.Fatalf("no trees: %v", err)
	}
	for _, tree := range trees {
		t.Run(filepath.Base(tree), func(t *testing.T) {
			t.Parallel()
			found, err := tidy.Check(tree, house)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, f := range found {
				got[f.File] = append(got[f.File], place(f.Line, f.Rule))
				if f.Text == "" {
					t.Errorf("%s says nothing", f)
				}
			}
			if diff := cmp.Diff(wanted(t, tree), got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

var wantMark = regexp.MustCompile(`// want( above| line 1)?: ([a-z0-9, ]+)$`)

func wanted(t *testing.T, tree string) map[string][]string {
	t.Helper()
	want := map[string][]string{}
	root := os.DirFS(tree)
	err := filepath.WalkDir(tree, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		text, err := readFile(root, rel)
		if err != nil {
			return err
		}
		var first, rest []string
		above := 0 // the last line before that is not empty
		for i, line := range strings.Split(text, "\n") {
			m := wantMark.FindStringSubmatch(line)
			if m == nil {
				if line != "" {
					above = i + 1
				}
				continue
			}
			at := map[string]int{"": i + 1, " above": above, " line 1": 1}[m[1]]
			for rule := range strings.SplitSeq(m[2], ", ") {
				if at == 1 {
					first = append(first, place(at, rule))
				} else {
					rest = append(rest, place(at, rule))
				}
			}
		}
		if all := append(first, rest...); len(all) > 0 {
			want[rel] = all
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func TestATreeThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := tidy.Check(filepath.Join(t.TempDir(), "absent"), tidy.Millrace()); err == nil {
		t.Error("a missing tree was found tidy")
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "broken.go"), []byte("package {"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tidy.Check(root, tidy.Millrace())
	if err == nil || !strings.Contains(err.Error(), "broken.go:1") {
		t.Errorf("a broken file gave %v", err)
	}
}

func TestAFindingPointsAtItsPlace(t *testing.T) {
	t.Parallel()
	f := tidy.Finding{File: "store/store.go", Line: 12, Rule: "arrow", Text: "no"}
	if got, want := f.String(), "store/store.go:12: arrow: no"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func place(line int, rule string) string { return strconv.Itoa(line) + " " + rule }

func readFile(root fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(root, name)
	return string(text), err
}

package workflow_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// files gives the workflow files of a folder of testdata.
func files(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		some, err := filepath.Glob(filepath.Join("testdata", folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	if len(found) == 0 {
		t.Fatalf("no files in testdata/%s", folder)
	}
	return found
}

// D4: every mistake of a file comes at once, each with line, column, words and remedy.
func TestBrokenFilesGetTheirWholeReport(t *testing.T) {
	t.Parallel()
	found := files(t, "invalid")
	if len(found) < 30 {
		t.Errorf("%d broken files, want 30 or more", len(found))
	}
	for _, file := range found {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = workflow.Read(filepath.Base(file), data)
			var mistakes *workflow.Mistakes
			if !errors.As(err, &mistakes) {
				t.Fatalf("got %v, want *workflow.Mistakes", err)
			}
			for _, m := range mistakes.List {
				if m.Line < 1 || m.Column < 1 || m.Message == "" || m.Remedy == "" {
					t.Errorf("a mistake lacks its place, words or remedy: %+v", m)
				}
				if m.Line > strings.Count(string(data), "\n")+1 {
					t.Errorf("a mistake lies behind the end: %v", m)
				}
			}
			golden(t, strings.TrimSuffix(file, filepath.Ext(file))+".txt", err.Error()+"\n")
		})
	}
}

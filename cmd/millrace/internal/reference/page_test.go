package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

var pageFile = filepath.Join("..", "..", "..", "..", "docs", "reference", "cli.md")

// The page on the commands is the one that the help gives.
func TestTheReferenceIsThatOfTheHelp(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(cli.Commands()), string(got)); diff != "" {
		t.Errorf("docs/reference/cli.md is old; `make docs` writes it (-want +got):\n%s", diff)
	}
}

// Every command has words and examples, and every one of them and of the flags is named on the page on the command line.
func TestEveryCommandAndFlagIsDocumented(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := cli.Commands()
	reference := page(root)
	for _, c := range documented(root) {
		if c.Name() == "help" {
			continue
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no words or no example", c.Name())
		}
		if !strings.Contains(string(guide), "`"+c.Name()) {
			t.Errorf("docs/cli.md does not name the command %s", c.Name())
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || !f.Hidden && f.Name != "help" && !strings.Contains(reference, "`--"+f.Name) {
				t.Errorf("%s --%s is not documented", c.Name(), f.Name)
			}
		})
	}
}

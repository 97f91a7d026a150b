// Command statements keeps docs/behaviour.md true: below each statement of that page it writes the tests that name it, and
// above them all a table of how many statements of each stage are held.
//
//	go run ./internal/tidy/statements            write the page
//	go run ./internal/tidy/statements -check     fail when the page is old
//	go run ./internal/tidy/statements -due 1     fail when a statement due in stage 1 has no test, naming each
//
// A test names a statement in a comment: the name alone, or several with commas (`// F7, F8`), at the beginning of a line
// of the comment or in parentheses; in a script of testscript likewise after `#`.
//
// Nouns: a [Statement] is a line of the page; a [Mark] is a place in a test that names one; a [Page] is the text with its
// statements. The package imports nothing of Millrace.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const page = "docs/behaviour.md"

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("statements", flag.ContinueOnError)
	flags.SetOutput(out)
	root := flags.String("root", ".", "the module's folder")
	check := flags.Bool("check", false, "write nothing; fail when the page is old")
	due := flags.Int("due", 0, "fail when a statement of this stage or an earlier one has no test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	name := filepath.Join(*root, filepath.FromSlash(page))
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the statements: %w", err)
	}
	p, err := Parse(string(text))
	if err != nil {
		return err
	}
	marks, err := Scan(os.DirFS(*root))
	if err != nil {
		return err
	}
	fresh, err := p.Render(marks)
	if err != nil {
		return err
	}
	if *due > 0 {
		return p.unheld(marks, *due)
	}
	if fresh == string(text) {
		return nil
	}
	if *check {
		return errors.New(page + " is old: run make docs")
	}
	return os.WriteFile(name, []byte(fresh), 0o644) //nolint:gosec // G306: a page of the documentation is for everyone
}

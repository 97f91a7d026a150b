package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Mark is a place in a test that names a statement.
type Mark struct {
	ID   string
	Dir  string // folder of the test
	Test string // the function around the mark or below it, or the name of a script
	File string
}

var (
	idList = `[A-Z][0-9]+(?:(?:, ?|,? and | )[A-Z][0-9]+)*`
	// atLineStart is a list of statements that begins a line of a comment.
	atLineStart = regexp.MustCompile(`(?m)^\s*(` + idList + `)\b`)
	// inParentheses is a list of statements in parentheses.
	inParentheses = regexp.MustCompile(`\((` + idList + `)\)`)
	oneID         = regexp.MustCompile(`[A-Z][0-9]+`)
	sections      = "DRFAXCEQTNOK"
)

// Scan finds the marks of all tests below root, in the order of folders, files and places. Folders that Go leaves out are
// left out here, but the scripts and the transcripts in testdata/ are read.
func Scan(root fs.FS) ([]Mark, error) {
	var marks []Mark
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "vendor" || name == "internal/tidy") {
				return fs.SkipDir
			}
			return nil
		}
		var found []Mark
		switch inData := strings.Contains(name, "testdata/"); {
		case strings.HasSuffix(base, "_test.go") && !inData, isSuite(name):
			found, err = scanGo(root, name)
		case path.Ext(base) == ".txtar", path.Ext(base) == ".txt" && strings.Contains(name, "testdata/transcripts/"):
			found, err = scanScript(root, name)
		}
		marks = append(marks, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.Dir, b.Dir) })
	return marks, nil
}

// isSuite says whether a file is of a package that other packages' tests run.
func isSuite(name string) bool {
	return path.Base(path.Dir(name)) == "storetest" && strings.HasSuffix(name, ".go")
}

func scanGo(root fs.FS, name string) ([]Mark, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var marks []Mark
	for _, group := range syntax.Comments {
		for _, id := range ids(group.Text()) {
			marks = append(marks, Mark{ID: id, Dir: path.Dir(name), Test: around(syntax, group, name), File: name})
		}
	}
	return marks, nil
}

// around gives the function that a comment stands in or belongs to, else the file's name.
func around(syntax *ast.File, group *ast.CommentGroup, name string) string {
	for _, d := range syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin := fn.Pos()
		if fn.Doc != nil {
			begin = fn.Doc.Pos()
		}
		if begin <= group.Pos() && group.Pos() < fn.End() {
			return fn.Name.Name
		}
	}
	return path.Base(name)
}

// scanScript reads the comments of a script of testscript, or of a transcript. Its folder is the one that holds testdata.
func scanScript(root fs.FS, name string) ([]Mark, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	dir, _, _ := strings.Cut(name, "/testdata/")
	var marks []Mark
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --") {
			break
		}
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			continue
		}
		for _, id := range ids(comment) {
			marks = append(marks, Mark{ID: id, Dir: dir, Test: path.Base(name), File: name})
		}
	}
	return marks, nil
}

// ids gives the statements that a comment names.
func ids(comment string) []string {
	var out []string
	for _, pattern := range []*regexp.Regexp{atLineStart, inParentheses} {
		for _, m := range pattern.FindAllStringSubmatch(comment, -1) {
			for _, id := range oneID.FindAllString(m[1], -1) {
				if strings.Contains(sections, id[:1]) && !slices.Contains(out, id) {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

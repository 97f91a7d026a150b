package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is the files of one folder, tests included.
type pkg struct {
	dir   string // "." for the root
	files []*file
}

// file is one parsed source file.
type file struct {
	path   string
	test   bool
	lines  int // all
	code   int // those that hold code: neither empty nor a comment alone
	fset   *token.FileSet
	syntax *ast.File
}

// production gives the files that are not tests.
func (p *pkg) production() []*file {
	var out []*file
	for _, f := range p.files {
		if !f.test {
			out = append(out, f)
		}
	}
	return out
}

func (f *file) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// at gives a finding on a line, which a permission on it or on the line above lifts.
func (f *file) at(line int, rule, text string) Finding {
	return Finding{File: f.path, Line: line, Rule: rule, Text: text, from: line - 1, to: line}
}

// on gives a finding about a declaration, which a permission in its comment lifts too.
func (f *file) on(pos token.Pos, doc *ast.CommentGroup, rule, text string) Finding {
	found := f.at(f.line(pos), rule, text)
	if doc != nil {
		found.from = min(found.from, f.line(doc.Pos()))
	}
	return found
}

// load parses every package below root, in the order of their folders.
func load(root string) ([]*pkg, error) {
	byDir := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, name)
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(f.path)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir}
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	packages := make([]*pkg, 0, len(byDir))
	for _, p := range byDir {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return packages, nil
}

// enter gives fs.SkipDir for folders that are not part of the module.
func enter(root, name string) error {
	if name == root {
		return nil
	}
	base := filepath.Base(name)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parse(root, name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, filepath.ToSlash(rel), text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &file{
		path:   filepath.ToSlash(rel),
		test:   strings.HasSuffix(name, "_test.go"),
		lines:  bytes.Count(text, []byte("\n")),
		code:   codeLines(text),
		fset:   fset,
		syntax: syntax,
	}, nil
}

// codeLines counts the lines on which something other than a comment stands. All lines of a long text in back quotes count.
func codeLines(text []byte) int {
	files := token.NewFileSet()
	source := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(source, text, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // put in by the scanner
		}
		first := source.Line(pos)
		end := first + strings.Count(literal, "\n")
		n += end - max(first-1, last)
		last = max(last, end)
	}
}

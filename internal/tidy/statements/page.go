package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	summaryBegin = "<!-- summary: written by make docs -->"
	summaryEnd   = "<!-- end of summary -->"
	testsBegin   = "  - held by "
)

// Statement is a line of the page.
type Statement struct {
	ID    string
	Stage int
	line  int // index in Page.lines
}

// Page is the text without its generated parts, and the statements in it.
type Page struct {
	Statements []Statement
	lines      []string
}

var statementLine = regexp.MustCompile(`^- \*\*([A-Z][0-9]+)\*\*( \+)? \[([0-9])\] \S`)

// Parse reads a page. A statement that stands twice, or a line that begins like one and is not, is an error.
func Parse(text string) (*Page, error) {
	p := &Page{}
	inSummary := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case line == summaryBegin:
			inSummary = true
		case line == summaryEnd:
			inSummary = false
		case inSummary || strings.HasPrefix(line, testsBegin):
			continue
		}
		if strings.HasPrefix(line, "- **") {
			s, err := statement(line)
			if err != nil {
				return nil, err
			}
			if p.find(s.ID) != nil {
				return nil, fmt.Errorf("%s: statement %s stands twice", page, s.ID)
			}
			s.line = len(p.lines)
			p.Statements = append(p.Statements, s)
		}
		p.lines = append(p.lines, line)
	}
	if inSummary || !slices.Contains(p.lines, summaryBegin) {
		return nil, fmt.Errorf("%s: there must be a line %q and after it a line %q", page, summaryBegin, summaryEnd)
	}
	return p, nil
}

func statement(line string) (Statement, error) {
	m := statementLine.FindStringSubmatch(line)
	if m == nil {
		return Statement{}, fmt.Errorf("%s: write `- **ID** [stage] text`, with ` +` after the ID where it applies: %q", page, line)
	}
	stage, err := strconv.Atoi(m[3])
	return Statement{ID: m[1], Stage: stage}, err
}

func (p *Page) find(id string) *Statement {
	for i := range p.Statements {
		if p.Statements[i].ID == id {
			return &p.Statements[i]
		}
	}
	return nil
}

// Render gives the page with its generated parts. A mark that names no statement is an error that says where it is.
func (p *Page) Render(marks []Mark) (string, error) {
	held := map[string][]Mark{}
	var unknown []error
	for _, m := range marks {
		if p.find(m.ID) == nil {
			unknown = append(unknown, fmt.Errorf("%s names the statement %s, which %s does not have", m.File, m.ID, page))
		}
		held[m.ID] = append(held[m.ID], m)
	}
	if len(unknown) > 0 {
		return "", errors.Join(unknown...)
	}
	byLine := map[int]string{}
	for _, s := range p.Statements {
		if list := held[s.ID]; len(list) > 0 {
			byLine[s.line] = testsBegin + grouped(list)
		}
	}
	var out strings.Builder
	for i, line := range p.lines {
		out.WriteString(line + "\n")
		if line == summaryBegin {
			out.WriteString(p.summary(held))
		}
		if tests, ok := byLine[i]; ok {
			out.WriteString(tests + "\n")
		}
	}
	return out.String(), nil
}

// summary is a table of the statements of each stage and how many of them some test holds.
func (p *Page) summary(held map[string][]Mark) string {
	var out strings.Builder
	out.WriteString("| stage | statements | held |\n|---:|---:|---:|\n")
	for stage := 1; stage <= 9; stage++ {
		all, done := 0, 0
		for _, s := range p.Statements {
			if s.Stage != stage {
				continue
			}
			all++
			if len(held[s.ID]) > 0 {
				done++
			}
		}
		if all > 0 {
			fmt.Fprintf(&out, "| %d | %d | %d |\n", stage, all, done)
		}
	}
	return out.String()
}

// unheld gives an error that names the statements due by a stage which no test holds; nil if there are none.
func (p *Page) unheld(marks []Mark, stage int) error {
	var missing []string
	for _, s := range p.Statements {
		named := slices.ContainsFunc(marks, func(m Mark) bool { return m.ID == s.ID })
		if s.Stage <= stage && !named {
			missing = append(missing, s.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("no test holds %s", strings.Join(missing, ", "))
}

// grouped gives the tests grouped by folder: `machine` TestA, TestB; `store/memory` TestC.
func grouped(marks []Mark) string {
	var parts []string
	for i := 0; i < len(marks); {
		dir := marks[i].Dir
		var names []string
		for ; i < len(marks) && marks[i].Dir == dir; i++ {
			if !slices.Contains(names, marks[i].Test) {
				names = append(names, marks[i].Test)
			}
		}
		parts = append(parts, "`"+dir+"` "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}

package tidy

import (
	"fmt"
	"strings"
)

const allowMark = "//tidy:allow"

// permission is one comment that lifts a rule.
type permission struct {
	file *file
	line int
	rule string
	used bool
}

// permit takes out the findings that a permission of the package lifts, and adds one for each permission that has no
// reason or lifts nothing.
func permit(p *pkg, found []Finding) []Finding {
	permissions, left := permissionsOf(p)
	for _, f := range found {
		if !lifted(permissions, f) {
			left = append(left, f)
		}
	}
	for _, a := range permissions {
		if !a.used {
			left = append(left, a.file.at(a.line, "allow", fmt.Sprintf("this permits %s, which nothing here breaks: take it out", a.rule)))
		}
	}
	return left
}

func permissionsOf(p *pkg) ([]*permission, []Finding) {
	var all []*permission
	var bad []Finding
	for _, f := range p.files {
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, allowMark)
				if !ok {
					continue
				}
				words := strings.Fields(rest)
				if len(words) < 2 {
					bad = append(bad, f.at(f.line(c.Pos()), "allow", "write "+allowMark+" RULE and the reason"))
					continue
				}
				all = append(all, &permission{file: f, line: f.line(c.Pos()), rule: words[0]})
			}
		}
	}
	return all, bad
}

func lifted(permissions []*permission, f Finding) bool {
	ok := false
	for _, a := range permissions {
		if a.rule != f.Rule {
			continue
		}
		here := a.file.path == f.File && (f.wide || f.from <= a.line && a.line <= f.to)
		if here || f.pkg {
			a.used, ok = true, true
		}
	}
	return ok
}

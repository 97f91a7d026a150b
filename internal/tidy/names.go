package tidy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// vague are the words that say nothing about what is inside.
var vague = []string{"util", "utils", "common", "models", "types", "helper", "helpers", "manager", "managers"}

// vagueParts finds a vague word in a name: from the start or an underscore, or from a capital, up to the next word.
var vagueParts = regexp.MustCompile(`(?:^|_)(` + strings.Join(vague, "|") + `)(?:[A-Z_]|$)|(` + capitals(vague) + `)(?:[^a-z]|$)`)

func capitals(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, strings.ToUpper(w[:1])+w[1:])
	}
	return strings.Join(out, "|")
}

// names finds packages, files and types that are named after nothing.
func names(_ House, _ Room, p *pkg) []Finding {
	var found []Finding
	for _, f := range p.files {
		if slices.Contains(vague, f.syntax.Name.Name) || slices.Contains(vague, path.Base(p.dir)) {
			found = append(found, f.at(f.line(f.syntax.Package), "name",
				fmt.Sprintf("package %s is named after nothing: name it after what it is about", f.syntax.Name.Name)))
		}
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if w, ok := vagueWord(base); ok {
			found = append(found, f.at(1, "name", fmt.Sprintf("%q in a file's name says nothing about what is inside", w)))
		}
		for spec, doc := range typeSpecs(f.syntax) {
			if w, ok := vagueWord(spec.Name.Name); ok {
				found = append(found, f.on(spec.Pos(), doc, "name",
					fmt.Sprintf("%q in %s says nothing about what it does", w, spec.Name.Name)))
			}
		}
	}
	return found
}

func vagueWord(name string) (string, bool) {
	m := vagueParts.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1] + m[2], true
}

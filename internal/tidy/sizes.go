package tidy

import (
	"fmt"
	"go/ast"
	"slices"
)

// sizes finds functions, files, packages and interfaces that grew past their budget.
func sizes(h House, room Room, p *pkg) []Finding {
	var found []Finding
	var lengths []int
	total := 0
	for _, f := range p.files {
		if f.lines > h.Limits.File {
			over := f.at(1, "filelen", fmt.Sprintf("%d lines, more than %d: divide it by subject", f.lines, h.Limits.File))
			over.wide = true
			found = append(found, over)
		}
		if f.test {
			continue
		}
		total += f.code
		long, all := functions(h, f)
		found = append(found, long...)
		lengths = append(lengths, all...)
	}
	found = append(found, interfaces(h, p)...)
	code := p.production()
	if len(code) == 0 {
		return found
	}
	if total > h.Limits.Package {
		found = append(found, whole(code[0], "pkglen",
			fmt.Sprintf("package %s has %d lines of code, more than %d: divide it", p.dir, total, h.Limits.Package)))
	}
	if p90 := percentile(lengths, 90); room.Short && p90 > h.Limits.P90 {
		found = append(found, whole(code[0], "p90",
			fmt.Sprintf("one function in ten of %s has %d lines or more; keep that at %d", p.dir, p90, h.Limits.P90)))
	}
	return found
}

// whole gives a finding about the package, which a permission anywhere in it lifts.
func whole(f *file, rule, text string) Finding {
	found := f.at(f.line(f.syntax.Package), rule, text)
	found.pkg = true
	return found
}

func functions(h House, f *file) (found []Finding, lengths []int) {
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		n := f.line(fn.End()) - f.line(fn.Pos()) + 1
		lengths = append(lengths, n)
		if n > h.Limits.Func {
			found = append(found, f.on(fn.Pos(), fn.Doc, "funclen",
				fmt.Sprintf("%s has %d lines, more than %d: give its parts names", fn.Name.Name, n, h.Limits.Func)))
		}
	}
	return found, lengths
}

// percentile gives the smallest length that p per cent of all do not exceed; 0 for none.
func percentile(lengths []int, p int) int {
	if len(lengths) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(lengths))
	return sorted[(len(sorted)*p+99)/100-1]
}

// interfaces finds interfaces with too many methods. Embedded interfaces of the package count with theirs, those of other
// packages as one.
func interfaces(h House, p *pkg) []Finding {
	type place struct {
		file *file
		spec *ast.TypeSpec
		doc  *ast.CommentGroup
		face *ast.InterfaceType
	}
	var places []place
	byName := map[string]*ast.InterfaceType{}
	for _, f := range p.production() {
		for spec, doc := range typeSpecs(f.syntax) {
			if face, ok := spec.Type.(*ast.InterfaceType); ok {
				places = append(places, place{f, spec, doc, face})
				byName[spec.Name.Name] = face
			}
		}
	}
	var found []Finding
	for _, at := range places {
		if n := methods(at.face, byName, map[*ast.InterfaceType]bool{}); n > h.Limits.Interface {
			found = append(found, at.file.on(at.spec.Pos(), at.doc, "ifacelen",
				fmt.Sprintf("%s has %d methods, more than %d: divide it by who calls them", at.spec.Name.Name, n, h.Limits.Interface)))
		}
	}
	return found
}

func methods(face *ast.InterfaceType, byName map[string]*ast.InterfaceType, seen map[*ast.InterfaceType]bool) int {
	if seen[face] {
		return 0
	}
	seen[face] = true
	n := 0
	for _, m := range face.Methods.List {
		if len(m.Names) > 0 {
			n += len(m.Names)
			continue
		}
		switch t := m.Type.(type) {
		case *ast.Ident:
			if inner := byName[t.Name]; inner != nil {
				n += methods(inner, byName, seen)
			}
		case *ast.SelectorExpr:
			n++
		}
	}
	return n
}

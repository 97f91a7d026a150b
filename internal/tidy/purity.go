package tidy

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
)

// impure are the packages that have no place where equal arguments must give equal bytes.
var impure = map[string]string{
	"math/rand":     "random numbers",
	"math/rand/v2":  "random numbers",
	"crypto/rand":   "random numbers",
	"hash/maphash":  "a random seed",
	"os":            "I/O",
	"os/exec":       "I/O",
	"net":           "I/O",
	"net/http":      "I/O",
	"io/ioutil":     "I/O",
	"path/filepath": "paths that differ between systems",
	"syscall":       "I/O",
	"runtime":       "the state of the process",
	"log":           "printing",
	"log/slog":      "printing",
	"context":       "waiting",
}

// clockNames are the names of package time that ask the clock or wait for it.
var clockNames = []string{
	"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep", "Local", "LoadLocation",
}

// purity finds clocks, randomness, I/O and goroutines in pure rooms. Their tests may have them.
func purity(_ House, room Room, p *pkg) []Finding {
	if !room.Pure {
		return nil
	}
	var found []Finding
	for _, f := range p.production() {
		for _, spec := range f.syntax.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if what, ok := impure[name]; ok {
				found = append(found, f.at(f.line(spec.Pos()), "pure", fmt.Sprintf("%s brings %s into a pure package", name, what)))
			}
		}
		clock := importName(f.syntax, "time")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = append(found, f.at(f.line(n.Pos()), "pure", "a goroutine in a pure package"))
			case *ast.SelectStmt:
				found = append(found, f.at(f.line(n.Pos()), "pure", "a select in a pure package"))
			case *ast.SelectorExpr:
				if selects(n, clock, clockNames) {
					found = append(found, f.at(f.line(n.Pos()), "pure", "time."+n.Sel.Name+" in a pure package: the event carries its time"))
				}
			}
			return true
		})
	}
	return found
}

// importName gives the name under which a file knows a package; "" if it does not.
func importName(f *ast.File, importPath string) string {
	for _, spec := range f.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// selects says whether an expression is one of these names of a package.
func selects(e *ast.SelectorExpr, packageName string, names []string) bool {
	id, ok := e.X.(*ast.Ident)
	return ok && packageName != "" && id.Name == packageName && slices.Contains(names, e.Sel.Name)
}

// testHabits finds sleeps and skips in tests.
func testHabits(_ House, _ Room, p *pkg) []Finding {
	var found []Finding
	for _, f := range p.files {
		if !f.test {
			continue
		}
		clock, drawn := importName(f.syntax, "time"), draws(f.syntax)
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if selects(sel, clock, []string{"Sleep"}) {
				found = append(found, f.at(f.line(n.Pos()), "sleep", "a test that sleeps: wait for a signal, use synctest or a virtual clock"))
			}
			if isSkip(sel) && !drawn.contains(n) {
				found = append(found, f.at(f.line(n.Pos()), "skip", "a skipped test hides a missing part: make it run everywhere"))
			}
			return true
		})
	}
	return found
}

// isSkip says whether a call is a Skip of a testing.T, B, F or TB, going by the usual names of such values.
func isSkip(sel *ast.SelectorExpr) bool {
	id, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name) &&
		slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
}

// bodies are functions of a property: rapid calls them with drawn values, and Skip there passes over one draw.
type bodies []ast.Node

// draws finds the functions that take a *rapid.T.
func draws(f *ast.File) bodies {
	rapid := importName(f, "pgregory.net/rapid")
	var found bodies
	ast.Inspect(f, func(n ast.Node) bool {
		var params *ast.FieldList
		switch n := n.(type) {
		case *ast.FuncDecl:
			params = n.Type.Params
		case *ast.FuncLit:
			params = n.Type.Params
		default:
			return true
		}
		for _, p := range params.List {
			star, _ := p.Type.(*ast.StarExpr)
			if star == nil {
				continue
			}
			if sel, ok := star.X.(*ast.SelectorExpr); ok && selects(sel, rapid, []string{"T"}) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

func (b bodies) contains(n ast.Node) bool {
	return slices.ContainsFunc(b, func(f ast.Node) bool { return f.Pos() <= n.Pos() && n.End() <= f.End() })
}

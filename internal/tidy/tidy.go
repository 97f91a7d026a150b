// Package tidy checks how the house is kept: the staircase of packages, the budgets of size, and the habits that a
// compiler does not see. Its test reads the whole tree with go/parser, so it needs no build and takes a second.
//
// Nouns: a [House] is the rules; a [Room] is a package and what it may import; a [Finding] is a place that breaks a rule.
// A rule that is broken on purpose says so where it is broken:
//
//	//tidy:allow funclen one switch over all events reads better in one piece
//
// in the comment of the declaration, on the line of the fault or on the line above it; for a rule about a file or a
// package (filelen, pkglen, pkgcomment, p90) anywhere in it. A permission without a reason, or that permits nothing, is a
// finding itself.
//
// The package imports nothing of Millrace.
package tidy

import (
	"cmp"
	"fmt"
	"slices"
)

// House is a set of rules for one module.
type House struct {
	Module string // path of the module
	Rooms  []Room
	Limits Limits
}

// Limits are the budgets. All but File are of production code only.
type Limits struct {
	Func      int // lines of a function, from func to the closing brace
	File      int // lines of a file
	Package   int // lines of a package that hold code, so that a comment costs nothing
	Interface int // methods of an interface, embedded ones that the package declares included
	P90       int // lines of the function at the 90th percentile in rooms with Short set
}

// Room is a package and what it may know.
type Room struct {
	Path  string   // folder below the module's root, "." for the root; "x/..." for x and every package below it
	Uses  []string // the rooms that its code may import; "..." for all
	Tests []string // the rooms that its tests may import besides
	Pure  bool     // no clock, no randomness, no goroutine, no I/O
	Short bool     // Limits.P90 holds
}

// Finding is a place that breaks a rule.
type Finding struct {
	File string // slash-separated, from the module's root
	Line int
	Rule string
	Text string // what is wrong and what to do

	from, to int  // lines in which a permission is looked for
	wide     bool // a permission anywhere in the file will do
	pkg      bool // a permission anywhere in the package will do
}

// String gives the finding as FILE:LINE: rule: text.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Text) }

// Check reads the tree below root and gives what breaks the rules, in the order of files and lines. Folders named
// testdata or vendor, hidden folders and modules of their own are left out. An error means that the tree cannot be read;
// a file that does not parse is such an error.
func Check(root string, h House) ([]Finding, error) {
	packages, err := load(root)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, p := range packages {
		found := checkPackage(h, p)
		all = append(all, permit(p, found)...)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return all, nil
}

func checkPackage(h House, p *pkg) []Finding {
	room, ok := h.room(p.dir)
	if !ok {
		first := p.files[0]
		return []Finding{first.at(1, "undeclared",
			fmt.Sprintf("nobody declared the package %s: add it to the table of internal/tidy with what it may import", p.dir))}
	}
	var found []Finding
	for _, check := range []func(House, Room, *pkg) []Finding{arrows, sizes, comments, names, purity, testHabits} {
		found = append(found, check(h, room, p)...)
	}
	return found
}

package tidy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// everything in Uses or Tests lets a room import all of the module.
const everything = "..."

// room finds the rules of the package in dir: an exact entry before the longest pattern.
func (h House) room(dir string) (Room, bool) {
	var best Room
	found := false
	for _, r := range h.Rooms {
		if r.Path == dir {
			return r, true
		}
		prefix, ok := strings.CutSuffix(r.Path, "/...")
		if ok && within(prefix, dir) && (!found || len(r.Path) > len(best.Path)) {
			best, found = r, true
		}
	}
	return best, found
}

// within says whether dir is parent or lies below it.
func within(parent, dir string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// arrows finds imports that the staircase does not have.
func arrows(h House, room Room, p *pkg) []Finding {
	var found []Finding
	for _, f := range p.files {
		for _, spec := range f.syntax.Imports {
			target, ok := h.inside(spec.Path.Value)
			if !ok || target == p.dir && f.test || room.mayImport(target, f.test) {
				continue
			}
			found = append(found, f.at(f.line(spec.Pos()), "arrow",
				fmt.Sprintf("%s must not import %s: the staircase has no such arrow (table of internal/tidy)", p.dir, target)))
		}
	}
	return found
}

// inside gives the folder of an imported package of this module.
func (h House) inside(literal string) (string, bool) {
	name, err := strconv.Unquote(literal)
	if err != nil {
		return "", false
	}
	if name == h.Module {
		return ".", true
	}
	return strings.CutPrefix(name, h.Module+"/")
}

func (r Room) mayImport(target string, test bool) bool {
	if allows(r.Uses, target) || test && allows(r.Tests, target) {
		return true
	}
	base, ok := strings.CutSuffix(r.Path, "/...")
	return ok && within(base, target)
}

func allows(list []string, target string) bool {
	return slices.Contains(list, everything) || slices.Contains(list, target)
}

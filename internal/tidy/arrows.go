package tidy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// everything in Uses or Tests lets a room import all of the module.
const everything = "..."

// room finds the rules of the package in dir: an exact entry, else the longest pattern, else those of the room that it is a
// division of: packages below ROOM/internal obey the rules of ROOM, and Go sees to it that nobody else imports them.
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
	if at := strings.LastIndex(dir, divisions); !found && at > 0 {
		if best, found = h.room(dir[:at]); found {
			best.Path = dir[:at] + divisions + "..."
		}
	}
	return best, found
}

// divisions is the folder in which a room that has grown large keeps its parts.
const divisions = "/internal/"

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
	base, _ := strings.CutSuffix(r.Path, "/...")
	return base != r.Path && within(base, target) || strings.HasPrefix(target, base+divisions)
}

func allows(list []string, target string) bool {
	return slices.Contains(list, everything) || slices.Contains(list, target)
}

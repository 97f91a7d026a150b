package oracle

import (
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/internal/sim/internal/plan"
)

// place is where an activation stands in a plan.
type place struct {
	path   string // with its try
	root   int    // index of the step of the root that it is, or is inside of
	step   *plan.Step
	levels []level // what is around it, outermost first
}

// level is an open composite, or the body of a catch, around an activation.
type level struct {
	step  *plan.Step
	act   string // the activation, with its try; of a catch the path of its body
	scope string // the scope in it
	catch bool
}

// find finds what a path names; ok is false when the plan has no such step, as for what is in `finally`.
func find(p *plan.Plan, path string) (place, bool) {
	f := finder{body: p.Root, path: path, rest: path, out: place{path: path, root: -1}}
	for range maxLevels {
		at, ok := f.step()
		if !ok {
			return place{}, false
		}
		if f.rest == "" {
			return f.out, true
		}
		if !f.into(at) {
			return place{}, false
		}
	}
	return place{}, false
}

const maxLevels = 20

// finder reads a path from left to right.
type finder struct {
	body *plan.Body
	path string
	rest string
	out  place
}

// done is the part of the path that was read.
func (f *finder) done() string { return f.path[:len(f.path)-len(f.rest)] }

// step reads a step with its visit and its try, and gives its activation.
func (f *finder) step() (act string, ok bool) {
	if f.body.Kind == plan.Single {
		f.out.step = f.body.Steps[0]
		f.rootIs(0)
	} else {
		key := f.word()
		f.out.step = nil
		for i, s := range f.body.Steps {
			if s.Key == key {
				f.out.step = s
				f.rootIs(i)
			}
		}
	}
	f.number('#')
	f.number('~')
	return f.done(), f.out.step != nil
}

func (f *finder) rootIs(i int) {
	if f.out.root < 0 {
		f.out.root = i
	}
}

// into reads the way from an activation into one of its scopes.
func (f *finder) into(act string) bool {
	s := f.out.step
	l := level{step: s, act: act}
	var body *plan.Body
	slot, found := f.slot()
	switch {
	case strings.HasPrefix(f.rest, "/catch-"):
		f.rest = f.rest[len("/catch-"):]
		n, err := strconv.Atoi(f.word())
		if err != nil || n > len(s.Catches) {
			return false
		}
		body, l.catch, l.act = s.Catches[n-1].Body, true, f.done()
	case found && (s.Action == "map" || s.Action == "loop"):
		f.rest = f.rest[len(slot):]
		body = s.Inner[0]
	case s.Action == "steps":
		body = s.Inner[0]
		if s.Alone {
			f.rest = strings.TrimPrefix(f.rest, "/do")
		}
	case strings.HasPrefix(f.rest, "/"):
		f.rest = f.rest[1:]
		body = s.Named(f.word())
	}
	if body == nil {
		return false
	}
	l.scope = f.done()
	f.body = body
	f.out.levels = append(f.out.levels, l)
	if body.Kind != plan.Single {
		rest, ok := strings.CutPrefix(f.rest, "/")
		f.rest = rest
		return ok
	}
	return true
}

// slot gives the `[N]` that comes next.
func (f *finder) slot() (text string, ok bool) {
	end := strings.IndexByte(f.rest, ']')
	if !strings.HasPrefix(f.rest, "[") || end < 0 {
		return "", false
	}
	return f.rest[:end+1], true
}

// word reads a key.
func (f *finder) word() string {
	end := strings.IndexAny(f.rest, "/#~[")
	if end < 0 {
		end = len(f.rest)
	}
	key := f.rest[:end]
	f.rest = f.rest[end:]
	return key
}

// number reads a number after a mark, if it is there.
func (f *finder) number(mark byte) {
	if f.rest == "" || f.rest[0] != mark {
		return
	}
	f.rest = f.rest[1:]
	f.word()
}

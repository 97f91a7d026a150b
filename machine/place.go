package machine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/workflow"
)

// place is a scope as the definition sees it: which body, inside which activation of which step.
type place struct {
	path      string
	body      *workflow.Body
	up        *place         // the scope that holds owner; nil at the root
	owner     *workflow.Step // the composite (or caught step) whose scope this is
	ownerPath string         // its activation, with visit and try
	slot      int            // branch, case or catch from 0; item of a map from 0; pass of a loop from 1
	catch     bool           // the body of a catch
	final     bool           // finally: it has no owner
}

func rootPlace(def *workflow.Definition) *place { return &place{body: def.Body} }

// isItemTask says whether the scope has no document: the item of a map whose body is one plain task.
func (p *place) isItemTask() bool {
	if p.owner == nil || p.catch || p.body.Kind != workflow.Single {
		return false
	}
	s := p.body.Steps[0]
	if !s.IsTask || s.When != nil || len(s.Catch) > 0 || s.OnError != workflow.OnErrorFail || s.Compensate != nil {
		return false
	}
	a, ok := p.owner.Action.(*workflow.Map)
	return ok && a.Body == p.body
}

func (p *place) inside(owner *workflow.Step, ownerPath, suffix string, body *workflow.Body, slot int) *place {
	return &place{path: ownerPath + suffix, body: body, up: p, owner: owner, ownerPath: ownerPath, slot: slot}
}

// branch, item, pass, block, caseBody and catchBody give the scopes that an activation of a composite opens.
func (p *place) branch(s *workflow.Step, ap string, i int) *place {
	b := s.Action.(*workflow.Parallel).Branches[i]
	return p.inside(s, ap, "/"+EscapeKey(b.Name), b.Body, i)
}

func (p *place) indexed(s *workflow.Step, ap string, body *workflow.Body, i int) *place {
	return p.inside(s, ap, "["+strconv.Itoa(i)+"]", body, i)
}

func (p *place) block(s *workflow.Step, ap string) *place {
	return p.inside(s, ap, blockSuffix(s), s.Action.(*workflow.Block).Body, 0)
}

// blockSuffix tells the scope of a block from its activation where that has the path of a scope itself: under `do`.
func blockSuffix(s *workflow.Step) string {
	if s.Body.Kind == workflow.Single {
		return "/do"
	}
	return ""
}

func (p *place) caseBody(s *workflow.Step, ap string, i int) *place {
	return p.inside(s, ap, "/case-"+strconv.Itoa(i+1), s.Action.(*workflow.Switch).Cases[i].Body, i)
}

func (p *place) catchBody(s *workflow.Step, ap string, i int) *place {
	q := p.inside(s, ap, "/catch-"+strconv.Itoa(i+1), s.Catch[i].Body, i)
	q.catch = true
	return q
}

// undo is where the compensation of an activation is: a single body of its own inside the scope of the step.
func (p *place) undo(s *workflow.Step, ap string) *place {
	return p.inside(s, ap, UndoSuffix, s.Compensate.Step.Body, 0)
}

// UndoSuffix ends the path of a compensation: no key and no try ends so.
const UndoSuffix = "~undo"

const finallyPath = "finally" // no step of the root has this key in a definition with finally

func finallyPlace(def *workflow.Definition, n int) *place {
	path := finallyPath
	if n > 1 {
		path += "#" + strconv.Itoa(n)
	}
	return &place{path: path, body: def.Finally, up: rootPlace(def), final: true}
}

// finallyPlace is where finally runs.
func (t *turn) finallyPlace() *place { return finallyPlace(t.def, t.run.finals()) }

// finals counts the times that finally runs: once for the start, and once for each retry after which the run ends again.
func (r *Run) finals() int {
	if c := r.Root.Run.Control; c != nil {
		return c.Finals + 1
	}
	return 1
}

// FinallyPath gives the path of the scope in which the finally of def runs, ran last, or will run first.
func (r *Run) FinallyPath(def *workflow.Definition) string { return finallyPlace(def, r.finals()).path }

// inFinally says whether a scope is that of finally or inside it.
func (p *place) inFinally() bool {
	for ; p != nil; p = p.up {
		if p.final {
			return true
		}
	}
	return false
}

// base is the path of the current activation of a step without its try.
func (p *place) base(s *workflow.Step, visit int) string {
	if p.body.Kind == workflow.Single {
		return p.path
	}
	path := EscapeKey(s.Key)
	if p.path != "" {
		path = p.path + "/" + path
	}
	if visit > 1 {
		path += "#" + strconv.Itoa(visit)
	}
	return path
}

func withTry(base string, try int) string {
	if try > 1 {
		return base + "~" + strconv.Itoa(try)
	}
	return base
}

// spot is an activation as a path names it.
type spot struct {
	at         *place
	step       *workflow.Step
	visit, try int
	undone     *spot // the activation that it undoes; nil: it is no compensation
}

var errPath = errors.New("no such activation")

// locate finds what a path names in a definition, whether or not it was ever activated.
func locate(def *workflow.Definition, path string) (spot, error) {
	at, rest := outermost(def, path)
	for depth := 0; depth <= maxDepth; depth++ {
		s, after, err := stepAt(at, rest)
		if err != nil {
			return spot{}, fmt.Errorf("%w: %s", err, path)
		}
		if after == "" {
			return s, nil
		}
		if after == UndoSuffix && s.step.Compensate != nil {
			c := s.step.Compensate.Step
			return spot{at: s.at.undo(s.step, path[:len(path)-len(after)]), step: c, visit: 1, try: 1, undone: &s}, nil
		}
		ap := path[:len(path)-len(after)]
		if at, rest, err = childAt(s, ap, after); err != nil {
			return spot{}, fmt.Errorf("%w: %s", err, path)
		}
	}
	return spot{}, fmt.Errorf("%w: %s", errPath, path)
}

const maxDepth = 64

// outermost gives the scope in which a path begins, the root's or that of finally, and the rest of the path in it.
func outermost(def *workflow.Definition, path string) (*place, string) {
	rest, ok := strings.CutPrefix(path, finallyPath)
	if !ok || def.Finally == nil {
		return rootPlace(def), path
	}
	n, rest, ok := number(rest, '#')
	switch single := def.Finally.Kind == workflow.Single; {
	case !ok:
	case single && (rest == "" || strings.IndexByte("/~[", rest[0]) >= 0):
		return finallyPlace(def, n), rest
	case !single && strings.HasPrefix(rest, "/"):
		return finallyPlace(def, n), rest[1:]
	}
	return rootPlace(def), path
}

// stepAt reads KEY#VISIT~TRY (of a single body only ~TRY) from the start of rest.
func stepAt(at *place, rest string) (spot, string, error) {
	s := spot{at: at, visit: 1, try: 1}
	if at.body.Kind == workflow.Single {
		s.step = at.body.Steps[0]
	} else {
		end := strings.IndexAny(rest, "/#~[")
		if end < 0 {
			end = len(rest)
		}
		key, err := unescapeKey(rest[:end])
		i, ok := at.body.ByKey[key]
		if err != nil || !ok {
			return s, "", errPath
		}
		s.step, rest = at.body.Steps[i], rest[end:]
	}
	var ok bool
	if s.visit, rest, ok = number(rest, '#'); !ok {
		return s, "", errPath
	}
	if rest == UndoSuffix {
		return s, rest, nil
	}
	if s.try, rest, ok = number(rest, '~'); !ok {
		return s, "", errPath
	}
	return s, rest, nil
}

func number(rest string, mark byte) (int, string, bool) {
	if rest == "" || rest[0] != mark {
		return 1, rest, true
	}
	end := 1
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[1:end])
	return n, rest[end:], err == nil && n > 1
}

// childAt reads what leads from an activation into one of its scopes, and the slash before a step there.
func childAt(s spot, ap, rest string) (*place, string, error) {
	q, ok := descend(s, ap, rest)
	if !ok {
		return nil, "", errPath
	}
	rest = rest[len(q.path)-len(ap):]
	if q.body.Kind != workflow.Single {
		if rest == "" || rest[0] != '/' {
			return nil, "", errPath
		}
		rest = rest[1:]
	}
	return q, rest, nil
}

// descend reads which scope of an activation rest leads into.
func descend(s spot, ap, rest string) (*place, bool) {
	if i, _, ok := numbered(rest, "/catch-"); ok && i < len(s.step.Catch) && s.step.Catch[i].Body != nil {
		return s.at.catchBody(s.step, ap, i), true
	}
	switch a := s.step.Action.(type) {
	case *workflow.Map:
		return indexedAt(s, ap, rest, a.Body)
	case *workflow.Loop:
		return indexedAt(s, ap, rest, a.Body)
	case *workflow.Parallel:
		return branchAt(s, ap, rest, a)
	case *workflow.Switch:
		if i, _, ok := numbered(rest, "/case-"); ok && i < len(a.Cases) && a.Cases[i].Body != nil {
			return s.at.caseBody(s.step, ap, i), true
		}
	case *workflow.Block:
		return s.at.block(s.step, ap), strings.HasPrefix(rest, blockSuffix(s.step))
	}
	return nil, false
}

func indexedAt(s spot, ap, rest string, body *workflow.Body) (*place, bool) {
	end := strings.IndexByte(rest, ']')
	if rest[0] != '[' || end < 0 {
		return nil, false
	}
	i, err := strconv.Atoi(rest[1:end])
	if err != nil || i < 0 || strconv.Itoa(i) != rest[1:end] {
		return nil, false
	}
	return s.at.indexed(s.step, ap, body, i), true
}

func branchAt(s spot, ap, rest string, a *workflow.Parallel) (*place, bool) {
	if rest[0] != '/' {
		return nil, false
	}
	end := strings.IndexAny(rest[1:], "/~[") + 1
	if end == 0 {
		end = len(rest)
	}
	name, err := unescapeKey(rest[1:end])
	if err != nil {
		return nil, false
	}
	for i := range a.Branches {
		if a.Branches[i].Name == name && EscapeKey(name) == rest[1:end] {
			return s.at.branch(s.step, ap, i), true
		}
	}
	return nil, false
}

func numbered(rest, prefix string) (int, string, bool) {
	if !strings.HasPrefix(rest, prefix) {
		return 0, rest, false
	}
	end := len(prefix)
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[len(prefix):end])
	return n - 1, rest[end:], err == nil && n > 0
}

func unescapeKey(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", errPath
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", errPath
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}

// Locate finds the step whose activation a path names.
func Locate(def *workflow.Definition, path string) (*workflow.Step, error) {
	s, err := locate(def, path)
	if err != nil {
		return nil, err
	}
	return s.step, nil
}

// scopeAt finds the scope whose document lies at path; nil when the definition has none there.
func scopeAt(def *workflow.Definition, path string) *place {
	if rest, ok := strings.CutPrefix(path, finallyPath); ok && def.Finally != nil {
		if n, rest, ok := number(rest, '#'); ok && rest == "" {
			return finallyPlace(def, n)
		}
	}
	at, rest := outermost(def, path)
	for depth := 0; depth <= maxDepth && rest != ""; depth++ {
		s, after, err := stepAt(at, rest)
		if err != nil {
			return nil
		}
		ap := path[:len(path)-len(after)]
		if after == "" { // a block's scope has its activation's path, but for one under `do`
			if _, ok := s.step.Action.(*workflow.Block); !ok || s.step.Body.Kind == workflow.Single {
				return nil
			}
			return at.block(s.step, ap)
		}
		q, ok := descend(s, ap, after)
		if !ok {
			return nil
		}
		if q.path == path {
			return q
		}
		if at, rest = q, path[len(q.path):]; q.body.Kind != workflow.Single {
			rest = strings.TrimPrefix(rest, "/")
		}
	}
	return at
}

// boxOf takes the path of a document of results apart.
func boxOf(chunk string) (box string, from int, ok bool) {
	i := strings.LastIndexByte(chunk, '[')
	if i < 0 || !HoldsResults(chunk) {
		return "", 0, false
	}
	from, err := strconv.Atoi(chunk[i+1 : len(chunk)-2])
	return chunk[:i], from, err == nil
}

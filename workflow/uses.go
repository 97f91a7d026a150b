package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
)

// use records the names that a compiled program reads.
func (r *reader) use(p *pending, compiled read) {
	levels, items := r.levels(p), r.items(p)
	for _, ref := range compiled.Refs() {
		switch ref[0] {
		case "steps":
			r.useStep(p, levels, ref)
		case "pass":
			p.uses.Passes = with(p.uses.Passes, PassUse{Up: r.passLevel(p)})
		case "vars", "secrets":
			r.useSetting(p, ref)
		default:
			if i := slices.IndexFunc(items, func(u ItemUse) bool { return ref[0] == u.Name || ref[0] == u.Name+"_index" }); i >= 0 {
				p.uses.Items = with(p.uses.Items, items[i])
			}
			p.uses.plain(ref)
		}
	}
	for _, need := range compiled.Needs() {
		if len(need) == 1 && need[0] == "error" && r.mayBeNoError(p) {
			n, offset := p.find("error")
			r.InText(n, offset, "write `error?.`", "`error` is null here when the run ended well")
		}
		if len(need) == 3 && need[0] == "steps" && need[2] == "output" {
			r.doubts = append(r.doubts, doubt{p, compiled, need[1]})
		}
	}
	slices.Sort(p.uses.Secrets)
	slices.SortFunc(p.uses.Steps, func(a, b StepUse) int { return cmp.Or(cmp.Compare(a.Up, b.Up), cmp.Compare(a.Index, b.Index)) })
	slices.SortFunc(p.uses.Items, func(a, b ItemUse) int { return cmp.Or(cmp.Compare(a.Up, b.Up), strings.Compare(a.Name, b.Name)) })
	slices.SortFunc(p.uses.Passes, func(a, b PassUse) int { return cmp.Compare(a.Up, b.Up) })
}

// plain records a name that means the same wherever it stands.
func (u *Uses) plain(ref expr.Ref) {
	switch ref[0] {
	case "input":
		u.Input = true
	case "prev":
		u.Prev = true
	case "run":
		u.Run = true
		u.Input = u.Input || len(ref) == 1 || ref[1] == "input"
	case "task":
		u.Task = true
	case "error":
		u.Error = true
	case "step":
		u.Undone = true
	case "approval":
		u.Approval = true
	}
}

// useSetting records a variable or a secret.
func (r *reader) useSetting(p *pending, ref expr.Ref) {
	switch {
	case ref[0] == "vars" && len(ref) == 1:
		r.bareName(p, "vars", "write vars.NAME")
	case ref[0] == "vars":
		p.uses.Vars = true
	case len(ref) != 2:
		r.bareName(p, "secrets", "write secrets.NAME")
	default:
		p.uses.Secrets = with(p.uses.Secrets, ref[1])
	}
}

// with adds a use that is not there yet.
func with[T comparable](uses []T, use T) []T {
	if slices.Contains(uses, use) {
		return uses
	}
	return append(uses, use)
}

// bareName notes a name that says nothing without a member.
func (r *reader) bareName(p *pending, name, remedy string) {
	n, offset := p.find(name)
	r.InText(n, offset, remedy, "`%s` alone cannot be used", name)
}

// useStep records a use of steps.KEY, and what must be kept for it.
func (r *reader) useStep(p *pending, levels []level, ref expr.Ref) {
	if len(ref) == 1 {
		r.bareName(p, "steps", "write steps.KEY.output")
		return
	}
	up, i := r.find(levels, ref[1])
	if up == noLevel {
		return
	}
	step := levels[up].body.Steps[i]
	at := slices.IndexFunc(p.uses.Steps, func(u StepUse) bool { return u.Up == up && u.Index == i })
	if at < 0 {
		at = len(p.uses.Steps)
		p.uses.Steps = append(p.uses.Steps, StepUse{Key: ref[1], Up: up, Index: i})
	}
	u := &p.uses.Steps[at]
	member := ""
	if len(ref) > 2 {
		member = ref[2]
	}
	u.Output = u.Output || member == "output" || member == ""
	u.Status = u.Status || member == "status" || member == ""
	u.Error = u.Error || member == "error" || member == ""
	u.Failed = u.Failed || member == "failed" || member == ""
	if member == "children" {
		u.Children = true
		n, offset := p.find("children")
		r.LaterInText(n, offset, "steps."+ref[1]+".children")
	}
	step.Named = step.Named || u.Output
	step.NamedError = step.NamedError || u.Error || u.Failed
}

// find gives where a word stands in the texts of a program or template, for positions.
func (p *pending) find(word string) (n *document.Node, offset int) {
	n = p.node
	p.node.Texts(func(text *document.Node) {
		if n == p.node && strings.Contains(text.Text, word) && (p.program != nil || strings.Contains(text.Text, "${")) {
			n = text
		}
	})
	return n, strings.Index(n.Text, word)
}

// doubt is a program that reads into steps.KEY.output without asking whether it is null. It is judged once every program is
// compiled, because a `when` somewhere may have asked.
type doubt struct {
	*pending
	compiled read
	key      string
}

// judge notes a read of an output that may be null.
func (r *reader) judge(d doubt) {
	levels := r.levels(d.pending)
	up, i := r.find(levels, d.key)
	if up == noLevel {
		return
	}
	l := levels[up]
	f, step := r.flows[l.body], l.body.Steps[i]
	own := l.self && i == l.at
	if r.asked(d, levels[up].body) {
		return
	}
	d.markBare(up, i)
	if f == nil || r.unsure[l.body] || !own && !l.over && f.Sure(i, l.at) {
		return
	}
	reason := fmt.Sprintf("there is a way here that goes round `%s`", d.key)
	switch {
	case own && r.inside(d.pending, undoing):
		reason = "the step may have failed"
	case own:
		reason = "the step failed"
	case l.over:
		reason = fmt.Sprintf("`%s` may not have run", d.key)
	case step.When != nil:
		reason = fmt.Sprintf("`%s` is passed over when its `when` is false", d.key)
	case step.OnError != OnErrorFail:
		reason = fmt.Sprintf("`%s` may have failed", d.key)
	}
	name := "steps." + d.key + ".output"
	if strings.Contains(d.key, "-") {
		name = fmt.Sprintf("steps[%q].output", d.key)
	}
	n, offset := d.find(name)
	r.InText(n, offset, fmt.Sprintf("write `%s?.` or `?? OTHER`, or ask for it with `when`", name),
		"%s may be null here: %s", name, reason)
}

// markBare notes with the step's names that this output is read as if it were there.
func (d *doubt) markBare(up, i int) {
	for k := range d.uses.Steps {
		if u := &d.uses.Steps[k]; u.Up == up && u.Index == i {
			u.Bare = true
		}
	}
}

// asked says whether the program itself, or a condition on the way to it, looks at the step before its output is read.
func (r *reader) asked(d doubt, body *Body) bool {
	for _, ref := range d.compiled.Refs() {
		if len(ref) >= 2 && len(ref) <= 3 && ref[0] == "steps" && ref[1] == d.key && (len(ref) == 2 || ref[2] == "output" || ref[2] == "status") {
			return true
		}
	}
	for s := d.step; s != nil; s = s.Body.Parent {
		if s != d.step || d.role != whenRole {
			if asks(s.When, d.key) {
				return true
			}
		}
		if r.askedOnWay(s, d.key) {
			return true
		}
		if s.Body == body {
			return false
		}
		if askedBySlot(s.Body, d.key) {
			return true
		}
	}
	return false
}

// asks says whether a condition looks at steps.KEY. One that did not compile is not held against its reader.
func asks(p *expr.Program, key string) bool {
	if p == nil {
		return false
	}
	return p.Source().Text == "" || slices.ContainsFunc(p.Refs(), func(ref expr.Ref) bool {
		return len(ref) >= 2 && ref[0] == "steps" && ref[1] == key
	})
}

// askedOnWay says whether a case or a catch that leads to s looks at steps.KEY.
func (r *reader) askedOnWay(s *Step, key string) bool {
	for _, from := range s.Body.Steps {
		if w, ok := from.Action.(*Switch); ok {
			for i := range w.Cases {
				if w.Cases[i].Next == s.Key && asks(w.Cases[i].When, key) {
					return true
				}
			}
		}
		for i := range from.Catch {
			if from.Catch[i].Next == s.Key && asks(from.Catch[i].When, key) {
				return true
			}
		}
	}
	return false
}

// askedBySlot says whether the case or catch that a body belongs to, or the loop around it, looks at steps.KEY.
func askedBySlot(b *Body, key string) bool {
	if b.Parent == nil {
		return false
	}
	for i := range b.Parent.Catch {
		if b.Parent.Catch[i].Body == b {
			return asks(b.Parent.Catch[i].When, key)
		}
	}
	switch a := b.Parent.Action.(type) {
	case *Switch:
		for i := range a.Cases {
			if a.Cases[i].Body == b {
				return asks(a.Cases[i].When, key)
			}
		}
	case *Loop:
		return asks(a.While, key)
	}
	return false
}

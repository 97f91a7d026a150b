package workflow

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
)

// role says what a program is for, which decides the names that it sees.
type role uint8

const (
	whenRole   role = iota
	needRole        // how many must succeed
	actionRole      // evaluated by the machine for the action
	workerRole      // evaluated by the process that claims the task: `task` is known
	catchRole       // the condition of a catch: `error` is known
	passRole        // while and until of a loop: `pass` and its item are known
	outputRole      // the workflow's output: no step, all of them have run
)

// pending is a program or a template that is compiled once all steps and edges are known.
type pending struct {
	step     *Step // nil: the workflow's output
	node     *document.Node
	role     role
	want     expr.Kind
	uses     *Uses
	program  **expr.Program
	template func(*expr.Template)
	secrets  bool // it may name secrets
}

// program notes a bare expression. Until it is compiled the target holds an empty program, which says that one is written.
func (r *reader) program(s *Step, n *document.Node, role role, want expr.Kind, uses *Uses, target **expr.Program) {
	if n == nil {
		return
	}
	*target = new(expr.Program)
	r.programs = append(r.programs, &pending{step: s, node: n, role: role, want: want, uses: uses, program: target})
}

// template notes a value with ${ expressions }.
func (r *reader) template(s *Step, n *document.Node, role role, uses *Uses, set func(*expr.Template)) {
	r.programs = append(r.programs, &pending{step: s, node: n, role: role, uses: uses, template: set})
}

// secretive notes a value with ${ expressions } in which secrets may stand.
func (r *reader) secretive(s *Step, n *document.Node, role role, uses *Uses, set func(*expr.Template)) {
	r.template(s, n, role, uses, set)
	r.programs[len(r.programs)-1].secrets = true
}

// read is what a compiled program or template tells about itself.
type read interface {
	Refs() []expr.Ref
	Needs() []expr.Ref
}

// compile compiles everything that was noted, resolves the names, and checks what may be null.
func (r *reader) compile() {
	for _, p := range r.programs {
		names := r.namesFor(p)
		var compiled read
		var err error
		if p.program != nil {
			var program *expr.Program
			if program, err = expr.Compile(expr.Source{Text: p.node.Text}, names, p.want); err == nil {
				*p.program, compiled = program, program
			}
		} else {
			var template *expr.Template
			if template, err = expr.CompileTemplate(p.node.Raw(), names); err == nil {
				p.template(template)
				compiled = template
			}
		}
		if err != nil {
			r.misspelt(p, names, err)
			continue
		}
		r.use(p, compiled)
	}
	for _, d := range r.doubts {
		r.judge(d)
	}
}

// misspelt notes what expr says about a program, or about each text of a template: compiling stops at the first.
func (r *reader) misspelt(p *pending, names *expr.Names, err error) {
	count := r.Count()
	if p.program == nil {
		p.node.Texts(func(n *document.Node) {
			if _, err := expr.CompileTemplate(n.Raw(), names); err != nil {
				r.fault(n, err)
			}
		})
	}
	if r.Count() == count {
		r.fault(p.node, err)
	}
}

// fault notes one error of expr in a text or in a value with texts.
func (r *reader) fault(n *document.Node, err error) {
	var e *expr.Error
	if !errors.As(err, &e) {
		r.Add(n, "mend the expression", "%v", err)
		return
	}
	remedy := e.Remedy
	if remedy == "" {
		remedy = "mend the expression"
	}
	r.InText(n.At(e.Pointer), e.Offset, remedy, "expression: %s", e.Reason)
}

// level is one body that a program looks into, from the inside out.
type level struct {
	body *Body
	at   int  // the step that looks; len(Steps): the end of the body
	self bool // that step itself has run: it is looked at from its catch or its compensation
	over bool // everything is over, well or not: it is looked at from `finally`
}

// levels gives the bodies around a program.
func (r *reader) levels(p *pending) []level {
	if p.step == nil {
		if r.def.Body == nil {
			return nil
		}
		return []level{{body: r.def.Body, at: len(r.def.Body.Steps)}}
	}
	var all []level
	after := false
	for s := p.step; s != nil; s = s.Body.Parent {
		all = append(all, level{body: s.Body, at: s.Index, self: after})
		after = isCatch(s.Body) || r.purposes[s.Body] == undoing
		if r.purposes[s.Body] == finishing && r.def.Body != nil {
			all = append(all, level{body: r.def.Body, at: len(r.def.Body.Steps), over: true})
		}
	}
	return all
}

// inside says whether a program stands in a body of this purpose, however deep.
func (r *reader) inside(p *pending, of purpose) bool {
	for s := p.step; s != nil; s = s.Body.Parent {
		if r.purposes[s.Body] == of {
			return true
		}
	}
	return false
}

// isCatch says whether a body belongs to a catch of its parent and not to the parent's action.
func isCatch(b *Body) bool {
	return b.Parent != nil && slices.ContainsFunc(b.Parent.Catch, func(c Catch) bool { return c.Body == b })
}

// ofAction says whether a body belongs to its parent's action, and not to a catch, a compensation or a notification.
func (r *reader) ofAction(b *Body) bool { return r.purposes[b] == 0 && !isCatch(b) }

// smallBody is how many steps a body may have for all of them to be listed as known names; of a larger one only those that
// the text mentions are, so that checking stays linear.
const smallBody = 50

var (
	wordPattern  = regexp.MustCompile(`[A-Za-z0-9_-]+`)
	stepsPattern = regexp.MustCompile(`\bsteps\s*(?:\??\.\s*|(?:\?\.)?\[\s*["'])([A-Za-z0-9_-]+)`)
	rootPattern  = regexp.MustCompile(`(?:^|[^.\w#"'-])([A-Za-z_][A-Za-z0-9_]*)\s*(?:\?\.|\.[A-Za-z_]|\[)`)
)

// text gives what is looked at for names: the program, or all texts of a template that hold an expression.
func (p *pending) text() string {
	if p.program != nil {
		return p.node.Text
	}
	var b strings.Builder
	p.node.Texts(func(n *document.Node) {
		if strings.Contains(n.Text, "${") {
			b.WriteString(n.Text)
			b.WriteByte('\n')
		}
	})
	return b.String()
}

var (
	leaf          = &expr.Names{}
	open          = &expr.Names{Open: true}
	errNames      = &expr.Names{Fields: map[string]*expr.Names{"code": leaf, "message": leaf, "step": leaf, "data": open}}
	runNames      = runMembers(why("it is known in `finally` only"))
	endNames      = runMembers(leaf)
	taskNames     = &expr.Names{Fields: map[string]*expr.Names{"key": leaf, "attempt": leaf, "path": leaf}}
	undoneNames   = &expr.Names{Fields: map[string]*expr.Names{"key": leaf, "input": open, "output": open}}
	approvalNames = &expr.Names{Fields: map[string]*expr.Names{"step": leaf, "title": leaf, "reminder": leaf}}
	passNames     = &expr.Names{Fields: map[string]*expr.Names{"number": leaf, "previous": open}}

	stepNames = &expr.Names{Fields: map[string]*expr.Names{
		"output": open, "status": leaf, "error": errNames, "failed": why("only a map has failed items: write steps.KEY.error"), "children": open,
	}}
	mapNames = &expr.Names{Fields: map[string]*expr.Names{
		"output": open, "status": leaf, "error": errNames, "failed": open, "children": open,
	}}
)

// runMembers gives the members of `run`.
func runMembers(ending *expr.Names) *expr.Names {
	return &expr.Names{Fields: map[string]*expr.Names{
		"id": leaf, "key": leaf, "workflow": leaf, "version": leaf, "input": open, "created_at": leaf, "labels": open, "ending": ending,
	}}
}

func why(remedy string) *expr.Names { return &expr.Names{Why: remedy} }

// reserved are the names that mean something in every program, and why they cannot be used where they are not known.
var reserved = map[string]string{
	"input": "", "prev": "there is no step here whose input it could be: write steps.KEY.output", "steps": "", "run": "",
	"task":     "`task` is known in `with`, `env` and what else a task, run, shell or http step reads",
	"error":    "`error` is known only where a catch leads, in compensations and in `finally`: write steps.KEY.error",
	"pass":     "`pass` is known only inside a loop",
	"step":     "`step` is known only in compensations: write steps.KEY",
	"vars":     "",
	"secrets":  "secrets may stand in `env` and in the `headers` of http only",
	"approval": "`approval` is known only in the `notify` of an approval",
}

func isReserved(name string) bool {
	_, ok := reserved[name]
	return ok
}

// namesFor gives the names that a program may use.
func (r *reader) namesFor(p *pending) *expr.Names {
	text := p.text()
	if p.program == nil && text == "" {
		return nil
	}
	top := map[string]*expr.Names{}
	for name, remedy := range reserved {
		if strings.Contains(text, name) { // names that cannot be used are not proposed
			top[name] = why(remedy)
		}
	}
	r.knownHere(p, top)
	for _, item := range r.items(p) {
		if top[item.Name] == nil {
			top[item.Name], top[item.Name+"_index"] = open, leaf
		}
	}
	steps := map[string]*expr.Names{}
	top["steps"] = &expr.Names{Fields: steps}
	levels := r.levels(p)
	for _, l := range levels {
		if l.body.Kind != Single && len(l.body.Steps) <= smallBody {
			for _, s := range l.body.Steps {
				r.stepName(steps, levels, s.Key, p)
			}
		}
	}
	for _, word := range wordPattern.FindAllString(text, -1) {
		r.stepName(steps, levels, word, p)
	}
	r.strangers(p, top, steps, text)
	return &expr.Names{Fields: top}
}

// knownHere puts the names that are known by the place of a program into top.
func (r *reader) knownHere(p *pending, top map[string]*expr.Names) {
	top["input"], top["run"], top["vars"] = open, runNames, r.varNames()
	if p.step != nil {
		top["prev"] = open
	}
	if p.role == workerRole {
		top["task"] = taskNames
	}
	if p.secrets {
		top["secrets"] = open
	}
	if r.inside(p, finishing) {
		top["run"] = endNames
	}
	if r.inside(p, undoing) {
		top["step"] = undoneNames
	}
	if r.inside(p, notifying) {
		top["approval"] = approvalNames
	}
	if r.errorKnown(p) {
		top["error"] = errNames
	}
	if r.passLevel(p) > noLevel {
		top["pass"] = passNames
	}
}

// stepName puts what a program sees of the step called key, if there is one around it, into the names.
func (r *reader) stepName(steps map[string]*expr.Names, levels []level, key string, p *pending) {
	if steps[key] != nil {
		return
	}
	up, i := r.find(levels, key)
	if up == noLevel {
		return
	}
	l := levels[up]
	switch _, isMap := l.body.Steps[i].Action.(*Map); {
	case !r.before(l, i) && p.step == nil:
	case !r.before(l, i):
		remedy := "let `" + l.body.Steps[l.at].Key + "` come `after: " + key + "`"
		switch {
		case i == l.at:
			remedy = "its own output is not known yet"
		case l.body.Kind == Sequence:
			remedy = "put it further up in the list"
		}
		steps[key] = why("`" + key + "` cannot have run before: " + remedy)
	case isMap:
		steps[key] = mapNames
	default:
		steps[key] = stepNames
	}
}

// noLevel says that a name is found nowhere; ownPass, that it belongs to the pass of the loop that the program stands on.
const (
	noLevel = -2
	ownPass = -1
)

// find gives the innermost body around a program that has a step called key, and the step's index in it.
func (r *reader) find(levels []level, key string) (up, index int) {
	for up, l := range levels {
		if i, ok := l.body.ByKey[key]; ok && l.body.Kind != Single {
			return up, i
		}
	}
	return noLevel, 0
}

// before says whether step i of a level may have run before the program does.
func (r *reader) before(l level, i int) bool {
	if l.self && i == l.at || l.over || r.unsure[l.body] {
		return true
	}
	f := r.flows[l.body]
	return f != nil && f.Before(i, l.at)
}

// strangers explains names in the text that no program here knows but whose meaning is plain.
func (r *reader) strangers(p *pending, top, steps map[string]*expr.Names, text string) {
	for _, m := range stepsPattern.FindAllStringSubmatch(text, -1) {
		other := r.elsewhere(m[1])
		if steps[m[1]] != nil || other == nil {
			continue
		}
		remedy := "it belongs to a body that this expression does not stand in"
		if parent := other.Body.Parent; isInside(other, p.step) && p.role == passRole {
			remedy = "read what the body gave: write prev"
		} else if parent != nil && parent.Body.Kind != Single {
			remedy = "`" + m[1] + "` is inside `" + parent.Key + "`: read what that gives, steps." + parent.Key + ".output"
		}
		steps[m[1]] = why(remedy)
	}
	for _, m := range rootPattern.FindAllStringSubmatch(text, -1) {
		if top[m[1]] == nil && steps[m[1]] != nil && !strings.Contains(text, "let "+m[1]) {
			top[m[1]] = why("write steps." + m[1] + ".output")
		}
	}
}

// isInside says whether a step is somewhere inside a composite.
func isInside(s, composite *Step) bool {
	for s = s.Body.Parent; s != nil; s = s.Body.Parent {
		if s == composite {
			return true
		}
	}
	return false
}

// errorKnown says whether `error` is in scope: a catch led here, or to something around.
func (r *reader) errorKnown(p *pending) bool {
	if p.role == catchRole {
		return true
	}
	for s := p.step; s != nil; s = s.Body.Parent {
		if s.CaughtHere || isCatch(s.Body) || r.purposes[s.Body] == undoing || r.purposes[s.Body] == finishing {
			return true
		}
	}
	return false
}

// mayBeNoError says whether `error` is null here when the run ended well.
func (r *reader) mayBeNoError(p *pending) bool {
	for s := p.step; s != nil; s = s.Body.Parent {
		switch {
		case s.CaughtHere || isCatch(s.Body) || r.purposes[s.Body] == undoing || p.role == catchRole:
			return false
		case r.purposes[s.Body] == finishing:
			return true
		}
	}
	return false
}

// passLevel gives how far out the innermost loop around a program is, or noLevel.
func (r *reader) passLevel(p *pending) int {
	if p.role == passRole {
		return ownPass
	}
	up := 0
	for s := p.step; s != nil && s.Body.Parent != nil; s, up = s.Body.Parent, up+1 {
		if _, ok := s.Body.Parent.Action.(*Loop); ok && r.ofAction(s.Body) {
			return up
		}
	}
	return noLevel
}

// items gives the items around a program, from the inside out; an inner one hides an outer one of the same name.
func (r *reader) items(p *pending) []ItemUse {
	var all []ItemUse
	if p.step == nil {
		return nil
	}
	if l, ok := p.step.Action.(*Loop); ok && p.role == passRole && l.As != "" {
		all = append(all, ItemUse{Name: l.As, Up: ownPass})
	}
	up := 0
	for s := p.step; s.Body.Parent != nil; s, up = s.Body.Parent, up+1 {
		if !r.ofAction(s.Body) {
			continue
		}
		switch a := s.Body.Parent.Action.(type) {
		case *Map:
			all = append(all, ItemUse{Name: a.As, Up: up})
		case *Loop:
			if a.As != "" {
				all = append(all, ItemUse{Name: a.As, Up: up})
			}
		}
	}
	return all
}

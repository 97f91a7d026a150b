package workflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// action reads the one action of a step.
func (r *reader) action(s *Step, n *document.Node, depth int) {
	keys := actionKeys(n)
	if len(keys) == 0 {
		if !n.Broken {
			r.Add(n, "write one of "+strings.Join(format.Actions(), ", "), "the step `%s` has no action", s.Key)
		}
		return
	}
	if len(keys) > 1 {
		var names []string
		for _, key := range keys {
			names = append(names, "`"+key.Text+"`")
		}
		r.Add(keys[1], "keep one, and make a step of its own of each other", "the step `%s` has %d actions: %s", s.Key, len(keys), strings.Join(names, ", "))
		return
	}
	v := n.Get(keys[0].Text)
	switch keys[0].Text {
	case "task":
		s.Action, s.IsTask = &Task{Handler: v.Text}, true
	case "run", "shell":
		s.IsTask = true
		r.command(s, n, v)
	case "http":
		s.IsTask = true
		r.http(s, v)
	case "steps", "parallel", "map", "loop", "switch":
		s.IsComposite = true
		r.composite(s, keys[0].Text, v, depth)
	default:
		r.ownAction(s, keys[0].Text, v)
	}
}

// ownAction reads an action that the machine does itself.
func (r *reader) ownAction(s *Step, action string, v *document.Node) {
	switch action {
	case "set":
		a := &Set{}
		s.Action = a
		r.template(s, v, actionRole, &s.ActionUses, func(t *expr.Template) { a.Value = t })
	case "wait":
		r.wait(s, v)
	case "await":
		r.await(s, v)
	case "emit":
		r.emit(s, v)
	case "approve":
		r.approve(s, v)
	case "workflow":
		r.call(s, v)
	case "savepoint":
		r.savepoint(s, v)
	case "fail":
		r.fail(s, v)
	case "end":
		r.end(s, v)
	}
}

func (r *reader) command(s *Step, n, v *document.Node) {
	c := &Command{Stdin: StdinJSON, Stdout: StdoutAuto}
	s.Action = c
	if v.Kind == document.List {
		c.Args = make([]*expr.Template, len(v.Items))
		for i, item := range v.Items {
			r.template(s, item, workerRole, &s.Uses, func(t *expr.Template) { c.Args[i] = t })
		}
		if len(v.Items) > 0 && (v.Items[0].Kind != document.Text || v.Items[0].Text == "") {
			r.Add(v.Items[0], "write the program as text", "the first word of `run` is the program")
		}
	} else if c.Script = v.Text; strings.TrimSpace(v.Text) == "" {
		r.Add(v, "write a script", "the script is empty")
	}
	if v := text(n, "stdin"); v != "" {
		c.Stdin = Stdin(v)
	}
	if v := text(n, "stdout"); v != "" {
		c.Stdout = Stdout(v)
	}
	c.Codes = r.statuses(n.Get("codes"), 1, 255, "exit status")
}

// statuses reads codes by status.
func (r *reader) statuses(codes *document.Node, low, high int, what string) map[int]string {
	if codes == nil || len(codes.Items) == 0 {
		return nil
	}
	known := map[int]string{}
	for i, key := range codes.Keys {
		status, err := strconv.Atoi(key.Text)
		if err != nil || status < low || status > high || strconv.Itoa(status) != key.Text {
			r.Add(key, fmt.Sprintf("write a number from %d to %d", low, high), "%q is not an %s", document.Clip(key.Text), what)
			continue
		}
		known[status] = codes.Items[i].Text
	}
	return known
}

func (r *reader) wait(s *Step, v *document.Node) {
	w := &Wait{}
	s.Action = w
	if v.Kind == document.Text {
		w.For, _ = format.ParseDuration(v.Text) // checked before
		r.notLonger(r.nodes[s], "wait")
		return
	}
	if v.Get("until") == nil && !v.Broken {
		r.Add(v, "write `wait: 5m` or `wait: { until: ... }`", "`wait` does not say how long")
	}
	r.program(s, v.Get("until"), actionRole, expr.Any, &s.ActionUses, &w.Until)
}

func (r *reader) fail(s *Step, v *document.Node) {
	f := &Fail{Code: "failed"}
	s.Action = f
	switch code := v.Get("code"); {
	case code == nil:
	case strings.Contains(code.Text, "${"):
		f.Code = ""
		r.textIn(s, v, "code", actionRole, &s.ActionUses, &f.CodeExpr)
	default:
		f.Code = code.Text
		if why := format.NameFault(code.Text); why != "" {
			r.Add(code, "write 1 to 255 characters without control characters or surrounding space", "`code` %s", why)
		}
	}
	r.textIn(s, v, "message", actionRole, &s.ActionUses, &f.Message)
	r.valueIn(s, v, "data", actionRole, &s.ActionUses, &f.Data)
}

func (r *reader) end(s *Step, v *document.Node) {
	e := &End{Run: v.Is("run")}
	s.Action = e
	if v.Is("false") {
		r.Add(v, "write true, or leave the step out", "`end` wants true, not false")
	}
	if output := v.Get("output"); output != nil {
		r.template(s, output, actionRole, &s.ActionUses, func(t *expr.Template) { e.Output = t })
	}
}

func (r *reader) composite(s *Step, action string, v *document.Node, depth int) {
	switch action {
	case "steps":
		s.Action = &Block{Body: r.body(v, s, "", depth+1)}
	case "parallel":
		p := &Parallel{}
		s.Action = p
		for i, key := range v.Keys {
			if !format.IsKey(key.Text) {
				r.Add(key, "write letters, digits, _ and - only", "%q cannot be the name of a branch", document.Clip(key.Text))
			}
			if pathPart.MatchString(key.Text) {
				r.ambiguous(key, key.Text, false)
			}
			body := r.inner(v.Items[i], s, key.Text, depth+1, "the branch `"+document.Clip(key.Text)+"`")
			p.Branches = append(p.Branches, Branch{Name: key.Text, Body: body})
		}
	case "map":
		r.mapAction(s, v, depth)
	case "loop":
		r.loop(s, v, depth)
	case "switch":
		r.switchAction(s, v, depth)
	}
}

func (r *reader) mapAction(s *Step, v *document.Node, depth int) {
	m := &Map{As: "item", Parallel: int(integer(v, "parallel"))}
	s.Action = m
	if as := v.Get("as"); as != nil {
		m.As = as.Text
		r.itemName(as)
	}
	if v.Get("over") == nil && !v.Broken {
		r.Add(v, "write `over: LIST`", "`map` does not say over what")
	}
	if t := v.Get("tolerate"); t != nil && t.Kind == document.Number {
		m.Tolerate.Count = number[int](t)
	} else if t != nil {
		m.Tolerate.Percent = format.Percentage(t.Text)
	}
	if set(v, "cancel_rest") {
		s.CancelRest = true
	}
	r.program(s, v.Get("over"), actionRole, expr.List, &s.ActionUses, &m.Over)
	r.program(s, v.Get("need"), needRole, expr.Number, &s.NeedUses, &s.Need)
	m.Body = r.inner(v, s, "", depth+1, "the map `"+s.Key+"`")
}

// itemName notes an `as` that would hide another name or cannot be written in an expression.
func (r *reader) itemName(as *document.Node) {
	switch {
	case isReserved(as.Text) || isReserved(as.Text+"_index"):
		r.Add(as, "choose another name", "`as: %s` would hide a name that means something else", as.Text)
	case strings.Contains(as.Text, "-") || as.Text[0] >= '0' && as.Text[0] <= '9':
		r.Add(as, "write letters, digits and _, with a letter first", "`%s` cannot be used as a name in expressions", as.Text)
	}
}

func (r *reader) loop(s *Step, v *document.Node, depth int) {
	l := &Loop{Every: span(v, "every"), Collect: set(v, "collect")}
	s.Action = l
	if v.Get("over") != nil {
		l.As = "item"
	}
	if as := v.Get("as"); as != nil {
		r.itemName(as)
		l.As = as.Text
		if v.Get("over") == nil && !v.Broken {
			r.Add(as, "write `over: LIST` too, or leave it out", "`as` names an item, but the loop has no list")
		}
	}
	r.program(s, v.Get("over"), actionRole, expr.List, &s.ActionUses, &l.Over)
	r.program(s, v.Get("limit"), actionRole, expr.Number, &s.ActionUses, &l.Limit)
	r.program(s, v.Get("while"), passRole, expr.Bool, &l.WhileUses, &l.While)
	r.program(s, v.Get("until"), passRole, expr.Bool, &l.UntilUses, &l.Until)
	if v.Get("over") == nil && v.Get("while") == nil && v.Get("until") == nil && v.Get("limit") == nil && !v.Broken {
		r.Add(v, "write `while`, `until`, `over` or `limit`", "the loop `%s` never ends", s.Key)
	}
	l.Body = r.inner(v, s, "", depth+1, "the loop `"+s.Key+"`")
}

func (r *reader) switchAction(s *Step, v *document.Node, depth int) {
	w := &Switch{Cases: make([]Case, len(v.Items))}
	s.Action = w
	for i, item := range v.Items {
		c := &w.Cases[i]
		c.Next, c.Origin = text(item, "next"), r.origin(item)
		r.program(s, item.Get("when"), actionRole, expr.Bool, &c.WhenUses, &c.When)
		if item.Get("when") == nil && !item.Broken && i < len(v.Items)-1 {
			r.Add(item, "write `when`, or put it last", "case %d of `%s` takes everything, so that no later one is reached", i+1, s.Key)
		}
		what := fmt.Sprintf("case %d of `%s`", i+1, s.Key)
		if item.Get("next") == nil {
			c.Body = r.inner(item, s, "case-"+strconv.Itoa(i+1), depth+1, what)
		} else if item.Get("do") != nil || item.Get("steps") != nil {
			r.Add(item, "keep one of the two", "%s has both `next` and a body", what)
		}
	}
}

package workflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/expr"
)

// action reads the one action of a step.
func (r *reader) action(s *Step, n *node, depth int) {
	keys := r.actionKeys(n)
	if len(keys) == 0 {
		if !n.broken {
			r.add(n, "write one of task, run, shell, set, wait, switch, steps, parallel, map, loop, fail, end", "the step `%s` has no action", s.Key)
		}
		return
	}
	if len(keys) > 1 {
		var names []string
		for _, key := range keys {
			names = append(names, "`"+key.text+"`")
		}
		r.add(keys[1], "keep one, and make a step of its own of each other", "the step `%s` has %d actions: %s", s.Key, len(keys), strings.Join(names, ", "))
		return
	}
	v := n.get(keys[0].text)
	switch keys[0].text {
	case "task":
		s.Action, s.IsTask = &Task{Handler: v.text}, true
	case "run", "shell":
		s.IsTask = true
		r.command(s, n, v)
	case "set":
		a := &Set{}
		s.Action = a
		r.template(s, v, actionRole, &s.ActionUses, func(t *expr.Template) { a.Value = t })
	case "wait":
		r.wait(s, v)
	case "fail":
		r.fail(s, v)
	case "end":
		r.end(s, v)
	default:
		s.IsComposite = true
		r.composite(s, keys[0].text, v, depth)
	}
}

func (r *reader) command(s *Step, n, v *node) {
	c := &Command{Stdin: StdinJSON, Stdout: StdoutAuto}
	s.Action = c
	if v.kind == listNode {
		c.Args = make([]*expr.Template, len(v.items))
		for i, item := range v.items {
			r.template(s, item, workerRole, &s.Uses, func(t *expr.Template) { c.Args[i] = t })
		}
		if len(v.items) > 0 && (v.items[0].kind != textNode || v.items[0].text == "") {
			r.add(v.items[0], "write the program as text", "the first word of `run` is the program")
		}
	} else if c.Script = v.text; strings.TrimSpace(v.text) == "" {
		r.add(v, "write a script", "the script is empty")
	}
	if v := text(n, "stdin"); v != "" {
		c.Stdin = Stdin(v)
	}
	if v := text(n, "stdout"); v != "" {
		c.Stdout = Stdout(v)
	}
	codes := n.get("codes")
	if codes == nil || len(codes.items) == 0 {
		return
	}
	c.Codes = map[int]string{}
	for i, key := range codes.keys {
		status, err := strconv.Atoi(key.text)
		if err != nil || status < 1 || status > 255 || strconv.Itoa(status) != key.text {
			r.add(key, "write a number from 1 to 255", "%q is not an exit status", clip(key.text))
			continue
		}
		c.Codes[status] = codes.items[i].text
	}
}

func (r *reader) wait(s *Step, v *node) {
	w := &Wait{}
	s.Action = w
	if v.kind == textNode {
		w.For, _ = ParseDuration(v.text) // checked before
		return
	}
	if v.get("until") == nil && !v.broken {
		r.add(v, "write `wait: 5m` or `wait: { until: ... }`", "`wait` does not say how long")
	}
	r.program(s, v.get("until"), actionRole, expr.Any, &s.ActionUses, &w.Until)
}

func (r *reader) fail(s *Step, v *node) {
	f := &Fail{Code: "failed"}
	s.Action = f
	if code := text(v, "code"); code != "" {
		f.Code = code
	}
	if message := v.get("message"); message != nil {
		r.template(s, newTextAt(message), actionRole, &s.ActionUses, func(t *expr.Template) { f.Message = t })
	}
	if data := v.get("data"); data != nil {
		r.template(s, data, actionRole, &s.ActionUses, func(t *expr.Template) { f.Data = t })
	}
}

// newTextAt gives a number or a boolean as the text that stands there.
func newTextAt(n *node) *node {
	c := *n
	c.kind = textNode
	return &c
}

func (r *reader) end(s *Step, v *node) {
	e := &End{Run: v.is("run")}
	s.Action = e
	if v.is("false") {
		r.add(v, "write true, or leave the step out", "`end` wants true, not false")
	}
	if output := v.get("output"); output != nil {
		r.template(s, output, actionRole, &s.ActionUses, func(t *expr.Template) { e.Output = t })
	}
}

func (r *reader) composite(s *Step, action string, v *node, depth int) {
	switch action {
	case "steps":
		s.Action = &Block{Body: r.body(v, s, "", depth+1)}
	case "parallel":
		p := &Parallel{}
		s.Action = p
		for i, key := range v.keys {
			if !keyPattern.MatchString(key.text) {
				r.add(key, "write letters, digits, _ and - only", "%q cannot be the name of a branch", clip(key.text))
			}
			body := r.inner(v.items[i], s, key.text, depth+1, "the branch `"+clip(key.text)+"`")
			p.Branches = append(p.Branches, Branch{Name: key.text, Body: body})
		}
	case "map":
		r.mapAction(s, v, depth)
	case "loop":
		r.loop(s, v, depth)
	case "switch":
		r.switchAction(s, v, depth)
	}
}

func (r *reader) mapAction(s *Step, v *node, depth int) {
	m := &Map{As: "item", Parallel: int(integer(v, "parallel"))}
	s.Action = m
	if as := v.get("as"); as != nil {
		m.As = as.text
		r.itemName(as)
	}
	if v.get("over") == nil && !v.broken {
		r.add(v, "write `over: LIST`", "`map` does not say over what")
	}
	if t := v.get("tolerate"); t != nil && t.kind == numberNode {
		m.Tolerate.Count = number[int](t)
	} else if t != nil {
		m.Tolerate.Percent = percentage(t.text)
	}
	if set(v, "cancel_rest") {
		s.CancelRest = true
	}
	r.program(s, v.get("over"), actionRole, expr.List, &s.ActionUses, &m.Over)
	r.program(s, v.get("need"), needRole, expr.Number, &s.NeedUses, &s.Need)
	m.Body = r.inner(v, s, "", depth+1, "the map `"+s.Key+"`")
}

// itemName notes an `as` that would hide another name or cannot be written in an expression.
func (r *reader) itemName(as *node) {
	switch {
	case isReserved(as.text) || isReserved(as.text+"_index"):
		r.add(as, "choose another name", "`as: %s` would hide a name that means something else", as.text)
	case strings.Contains(as.text, "-") || as.text[0] >= '0' && as.text[0] <= '9':
		r.add(as, "write letters, digits and _, with a letter first", "`%s` cannot be used as a name in expressions", as.text)
	}
}

func (r *reader) loop(s *Step, v *node, depth int) {
	l := &Loop{Every: span(v, "every"), Collect: set(v, "collect")}
	s.Action = l
	if v.get("over") != nil {
		l.As = "item"
	}
	if as := v.get("as"); as != nil {
		r.itemName(as)
		l.As = as.text
		if v.get("over") == nil && !v.broken {
			r.add(as, "write `over: LIST` too, or leave it out", "`as` names an item, but the loop has no list")
		}
	}
	r.program(s, v.get("over"), actionRole, expr.List, &s.ActionUses, &l.Over)
	r.program(s, v.get("limit"), actionRole, expr.Number, &s.ActionUses, &l.Limit)
	r.program(s, v.get("while"), passRole, expr.Bool, &l.WhileUses, &l.While)
	r.program(s, v.get("until"), passRole, expr.Bool, &l.UntilUses, &l.Until)
	if v.get("over") == nil && v.get("while") == nil && v.get("until") == nil && v.get("limit") == nil && !v.broken {
		r.add(v, "write `while`, `until`, `over` or `limit`", "the loop `%s` never ends", s.Key)
	}
	l.Body = r.inner(v, s, "", depth+1, "the loop `"+s.Key+"`")
}

func (r *reader) switchAction(s *Step, v *node, depth int) {
	w := &Switch{Cases: make([]Case, len(v.items))}
	s.Action = w
	for i, item := range v.items {
		c := &w.Cases[i]
		c.Next, c.Origin = text(item, "next"), r.origin(item)
		r.program(s, item.get("when"), actionRole, expr.Bool, &c.WhenUses, &c.When)
		if item.get("when") == nil && !item.broken && i < len(v.items)-1 {
			r.add(item, "write `when`, or put it last", "case %d of `%s` takes everything, so that no later one is reached", i+1, s.Key)
		}
		what := fmt.Sprintf("case %d of `%s`", i+1, s.Key)
		if item.get("next") == nil {
			c.Body = r.inner(item, s, "case-"+strconv.Itoa(i+1), depth+1, what)
		} else if item.get("do") != nil || item.get("steps") != nil {
			r.add(item, "keep one of the two", "%s has both `next` and a body", what)
		}
	}
}

package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// step reads one step into its body.
func (r *reader) step(b *Body, key string, n *document.Node, depth int) {
	s := &Step{ID: len(r.def.Steps), Index: len(b.Steps), Body: b, Key: key, Origin: r.origin(n)}
	r.def.Steps = append(r.def.Steps, s)
	b.Steps = append(b.Steps, s)
	r.nodes[s] = n
	if first, ok := b.ByKey[key]; ok {
		at := n
		if id := n.Get("id"); id != nil {
			at = id
		}
		r.Add(at, "give one of them another name", "two steps here are called `%s`: line %d has the other", key, b.Steps[first].Origin.Line)
	} else {
		b.ByKey[key] = s.Index
	}
	s.Title, s.Description = text(n, "title"), text(n, "description")
	s.After, s.Next = texts(n, "after"), text(n, "next")
	s.CancelRest, s.AtMostOnce = set(n, "cancel_rest"), set(n, "at_most_once")
	s.Join = joinOf(n.Get("join"))
	s.Timeout, s.Delay, s.Lease, s.Heartbeat = span(n, "timeout"), span(n, "delay"), span(n, "lease"), span(n, "heartbeat")
	s.Queue, s.Priority, s.Dir = text(n, "queue"), int(integer(n, "priority")), text(n, "dir")
	s.OnError = map[string]OnError{"continue": OnErrorContinue, "skip": OnErrorSkip}[text(n, "on_error")]
	if s.Queue == "default" {
		s.Queue = ""
	}
	if meta := n.Get("meta"); meta != nil {
		s.Meta = meta.Raw()
	}
	s.Retry = r.retries(n.Get("retry"))
	r.program(s, n.Get("when"), whenRole, expr.Bool, &s.WhenUses, &s.When)
	r.program(s, n.Get("need"), needRole, expr.Number, &s.NeedUses, &s.Need)
	r.belongs(s, n)
	r.action(s, n, depth)
	r.notLonger(n, "timeout")
	r.notLonger(n, "delay")
	r.fallBack(s)
	r.input(s, n)
	s.Concurrency, s.Rate = r.limit(s, n.Get("concurrency")), r.limit(s, n.Get("rate"))
	r.compensation(s, n)
	r.catches(s, n.Get("catch"), depth)
}

// fallBack gives a step what `defaults` says where the step says nothing.
func (r *reader) fallBack(s *Step) {
	if r.defaults == nil || !s.IsTask {
		return
	}
	n := r.nodes[s]
	if n.Get("retry") == nil {
		s.Retry = r.usualRetry
	}
	if n.Get("timeout") == nil {
		s.Timeout = span(r.defaults, "timeout")
	}
	if queue := text(r.defaults, "queue"); n.Get("queue") == nil && queue != "default" {
		s.Queue = queue
	}
}

// notLonger notes a time that the deadline of the run makes useless.
func (r *reader) notLonger(n *document.Node, key string) {
	v := n.Get(key)
	if v == nil || v.Kind != document.Text || r.def.Deadline == 0 {
		return
	}
	if d, _ := format.ParseDuration(v.Text); d > r.def.Deadline {
		r.Add(v, "write a shorter one, or a later `deadline`", "`%s` is longer than the deadline of the run, %s", key, format.FormatDuration(r.def.Deadline))
	}
}

// limit reads `concurrency` or `rate`.
func (r *reader) limit(s *Step, n *document.Node) *Limit {
	if n == nil {
		return nil
	}
	l := &Limit{Limit: max(1, int(integer(n, "limit"))), Per: span(n, "per")}
	if n.Get("key") == nil && !n.Broken {
		r.Add(n, "write `key:`, with the same text for tasks that count together", "the limit has no key")
	}
	if r.nodes[s].Get("rate") == n && l.Per == 0 {
		l.Per = time.Second
	}
	r.textIn(s, n, "key", actionRole, &s.LimitUses, &l.Key)
	return l
}

// textIn notes a member that is text with expressions.
func (r *reader) textIn(s *Step, n *document.Node, key string, role role, uses *Uses, target **expr.Template) {
	if v := n.Get(key); v != nil {
		r.template(s, asText(v), role, uses, func(t *expr.Template) { *target = t })
	}
}

// valueIn notes a member that is any value with expressions.
func (r *reader) valueIn(s *Step, n *document.Node, key string, role role, uses *Uses, target **expr.Template) {
	if v := n.Get(key); v != nil {
		r.template(s, v, role, uses, func(t *expr.Template) { *target = t })
	}
}

// asText gives a number or a boolean as the text that stands there.
func asText(n *document.Node) *document.Node {
	c := *n
	c.Kind = document.Text
	return &c
}

// compensation reads `compensate` and what belongs to it.
func (r *reader) compensation(s *Step, n *document.Node) {
	unknown, v := n.Get("compensate_unknown"), n.Get("compensate")
	if unknown != nil {
		undo := unknown.Is("true")
		s.CompensateUnknown = &undo
		if v == nil && !n.Broken {
			r.Add(unknown, "write `compensate`, or leave it out", "`compensate_unknown` says nothing where nothing undoes the step")
		}
	}
	switch {
	case v == nil:
	case v.Kind == document.Object:
		s.Compensate = &Compensation{Step: r.alone(v, s, "compensate", undoing)}
	default:
		if s.Compensate = r.shared[v.Text]; s.Compensate != nil {
			return
		}
		remedy := "declare it under `compensations`, or write the action itself"
		if word := document.Nearest(v.Text, slices.Sorted(maps.Keys(r.shared))); word != "" {
			remedy = fmt.Sprintf("write `%s`", word)
		}
		r.Add(v, remedy, "there is no compensation `%s`", document.Clip(v.Text))
	}
}

// belongs notes keys that the kind of body or the action does not take.
func (r *reader) belongs(s *Step, n *document.Node) {
	wrong := map[string]string{}
	switch s.Body.Kind {
	case Graph:
		wrong = map[string]string{
			"id":   "leave it out: the key is the step's name",
			"next": "write `after: " + s.Key + "` on the step that comes next, or make the steps a list",
		}
	case Sequence:
		wrong = map[string]string{
			"after": "leave it out: a list runs from top to bottom; write the steps as a map to make a graph",
			"join":  "leave it out: a list runs one step at a time",
		}
	case Single:
		remedy := "leave it out: there is one step; write `steps:` for more"
		wrong = map[string]string{"id": remedy, "next": remedy, "after": remedy, "join": remedy}
	}
	for _, key := range slices.Sorted(maps.Keys(wrong)) {
		if i := n.Find(key); i >= 0 {
			r.Add(n.Keys[i], wrong[key], "`%s` does not belong to a step of %s", key, [...]string{"a map", "a list", "`do`"}[s.Body.Kind])
		}
	}
	actions := actionKeys(n)
	if len(actions) != 1 {
		return
	}
	for i, key := range n.Keys {
		if ok, instead := format.Takes(actions[0].Text, key.Text); !ok {
			r.Add(n.Keys[i], instead, "`%s` does not belong to `%s`", key.Text, actions[0].Text)
		}
	}
}

// actionKeys gives the keys of n that are actions.
func actionKeys(n *document.Node) []*document.Node {
	var found []*document.Node
	for _, key := range n.Keys {
		if format.IsAction(key.Text) {
			found = append(found, key)
		}
	}
	return found
}

// input reads what a step gives to its action: with, env.
func (r *reader) input(s *Step, n *document.Node) {
	uses, role := &s.ActionUses, actionRole
	if s.IsTask {
		uses, role = &s.Uses, workerRole
	}
	with := n.Get("with")
	if call := n.Get("workflow"); call != nil && call.Get("with") != nil {
		if with != nil {
			r.Add(with, "keep one of the two", "`with` stands both beside `workflow` and inside it")
		}
		with = call.Get("with")
	}
	if with != nil {
		r.template(s, with, role, uses, func(t *expr.Template) { s.With = t })
	} else if readsInput(s) {
		undo := r.purposes[s.Body] == undoing
		s.Uses.Prev, s.Uses.Undone, s.Uses.Error = !undo, undo, undo
	}
	r.environment(s, n)
	if strings.ContainsRune(s.Dir, 0) || strings.HasPrefix(s.Dir, "/") || slices.Contains(strings.Split(s.Dir, "/"), "..") {
		r.Add(n.Get("dir"), "write a folder inside the workflow's own", "`dir` leads out of the workflow's folder")
	}
}

// readsInput says whether a worker's step without `with` reads what it gets: what came before or, in a compensation, the step
// that it undoes and the error.
func readsInput(s *Step) bool {
	switch a := s.Action.(type) {
	case *Task:
		return true
	case *Command:
		return a.Stdin == StdinJSON
	}
	return false
}

// environment reads the variables of a command: its own, and those of `defaults` that it does not name.
func (r *reader) environment(s *Step, n *document.Node) {
	var all []*document.Node
	if env := n.Get("env"); env != nil {
		all = append(all, env)
	}
	if _, ok := s.Action.(*Command); ok && r.defaults.Get("env") != nil {
		all = append(all, r.defaults.Get("env"))
	}
	seen := map[string]bool{}
	for _, env := range all {
		for i, key := range env.Keys {
			if key.Text == "" || strings.ContainsAny(key.Text, "=\x00") {
				r.Add(key, "write letters, digits and _", "%q cannot be the name of a variable", document.Clip(key.Text))
			}
			if seen[key.Text] {
				continue
			}
			seen[key.Text] = true
			if s.Env == nil {
				s.Env = map[string]*expr.Template{}
			}
			r.secretive(s, env.Items[i], workerRole, &s.Uses, func(t *expr.Template) { s.Env[key.Text] = t })
		}
	}
}

// catches reads the entries of `catch`.
func (r *reader) catches(s *Step, n *document.Node, depth int) {
	if n == nil {
		return
	}
	for i, item := range n.Each() {
		s.Catch = append(s.Catch, Catch{})
		c := &s.Catch[i]
		c.Only, c.Except, c.Next, c.Origin = r.codes(item, "only"), r.codes(item, "except"), text(item, "next"), r.origin(item)
	}
	for i, item := range n.Each() {
		c := &s.Catch[i]
		r.program(s, item.Get("when"), catchRole, expr.Bool, &c.WhenUses, &c.When)
		what := fmt.Sprintf("the catch of `%s`", s.Key)
		if item.Get("next") == nil {
			c.Body = r.inner(item, s, "catch-"+strconv.Itoa(i+1), depth+1, what)
		} else if item.Get("do") != nil || item.Get("steps") != nil {
			r.Add(item, "keep one of the two", "%s has both `next` and a body", what)
		}
		if i > 0 && len(s.Catch[i-1].Only)+len(s.Catch[i-1].Except) == 0 && s.Catch[i-1].When == nil && !n.Each()[i-1].Broken {
			r.Add(item, "put it before the entry that takes everything", "no failure ever reaches this entry: the one before it takes all")
		}
	}
}

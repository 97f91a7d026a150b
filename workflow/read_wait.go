package workflow

import (
	"net/url"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
	"github.com/millrace-go/millrace/workflow/internal/input"
)

// http reads a request, whose parts the claiming process evaluates.
func (r *reader) http(s *Step, v *document.Node) {
	h := &HTTP{Method: "GET", Full: set(v, "full"), Codes: r.statuses(v.Get("codes"), 100, 599, "HTTP status")}
	s.Action = h
	if method := text(v, "method"); method != "" {
		h.Method = method
	}
	switch address := v.Get("url"); {
	case address == nil && !v.Broken:
		r.Add(v, "write `url:`", "the request does not say where it goes")
	case address != nil && !strings.Contains(address.Text, "${"):
		if u, err := url.Parse(address.Text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			r.Add(address, "write a whole address, such as https://example.org/path", "`url` is no address of http or https")
		}
	}
	r.textIn(s, v, "url", workerRole, &s.Uses, &h.URL)
	h.Query, h.Form = r.pairs(s, v.Get("query")), r.pairs(s, v.Get("form"))
	if headers := v.Get("headers"); headers != nil {
		h.Header = make([]Pair, len(headers.Items))
		for i, key := range headers.Keys {
			if !headerName(key.Text) {
				r.Add(key, "write letters, digits and -", "%q cannot be the name of a header", document.Clip(key.Text))
			}
			h.Header[i].Name = key.Text
			r.secretive(s, asText(headers.Items[i]), workerRole, &s.Uses, func(t *expr.Template) { h.Header[i].Value = t })
		}
	}
	r.valueIn(s, v, "json", workerRole, &s.Uses, &h.JSON)
	r.textIn(s, v, "body", workerRole, &s.Uses, &h.Body)
	if expect := v.Get("expect"); expect != nil {
		for _, status := range expect.Each() {
			h.Expect = append(h.Expect, number[int](status))
		}
	}
	if v.Get("method") != nil || !v.Broken {
		r.requestBody(v, h.Method)
	}
}

// requestBody notes bodies that contradict each other or the method.
func (r *reader) requestBody(v *document.Node, method string) {
	var found []string
	for i, key := range v.Keys {
		switch key.Text {
		case "json", "form", "body":
			if found = append(found, key.Text); len(found) == 2 {
				r.Add(v.Keys[i], "keep one of them", "a request has one body, not `%s` and `%s`", found[0], found[1])
			}
			if method == "GET" || method == "HEAD" {
				r.Add(v.Keys[i], "write `method: POST`, or put it into `query`", "a request by %s has no body", method)
			}
		}
	}
}

// headerName says whether s may be the name of a header (RFC 9110, 5.6.2).
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// pairs reads values by name, in the order written.
func (r *reader) pairs(s *Step, n *document.Node) []Pair {
	if n == nil {
		return nil
	}
	all := make([]Pair, len(n.Items))
	for i, key := range n.Keys {
		all[i].Name = key.Text
		r.template(s, n.Items[i], workerRole, &s.Uses, func(t *expr.Template) { all[i].Value = t })
	}
	return all
}

func (r *reader) await(s *Step, v *document.Node) {
	a := &Await{Mode: AwaitOne, Within: span(v, "within")}
	s.Action = a
	r.notLonger(v, "within")
	var ways []string
	for _, key := range []string{"event", "all", "any"} {
		if v.Get(key) != nil {
			ways = append(ways, key)
		}
	}
	switch {
	case v.Broken && len(ways) == 0:
	case len(ways) != 1:
		r.Add(v, "write one of them", "`await` wants one of `event`, `all` and `any`")
	case ways[0] == "event":
		a.Events = make([]AwaitedEvent, 1)
		r.awaited(s, v, &a.Events[0])
	default:
		a.Mode = AwaitMode(ways[0])
		r.awaitedList(s, v, a)
	}
}

func (r *reader) awaitedList(s *Step, v *document.Node, a *Await) {
	items := v.Get(string(a.Mode)).Items
	if v.Get("key") != nil {
		r.Add(v.Get("key"), "write it beside each event: { event: NAME, key: ... }", "`key` belongs to one event, and here are several")
	}
	a.Events = make([]AwaitedEvent, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		r.awaited(s, item, &a.Events[i])
		if name := a.Events[i].Event; seen[name] {
			r.Add(item, "wait for it in a step of its own", "the event `%s` is named twice, and the output is an object by event", document.Clip(name))
		}
		seen[a.Events[i].Event] = true
	}
}

func (r *reader) awaited(s *Step, n *document.Node, e *AwaitedEvent) {
	if n.Kind == document.Text {
		e.Event = n.Text
		return
	}
	e.Event = r.eventName(n)
	r.textIn(s, n, "key", actionRole, &s.ActionUses, &e.Key)
}

func (r *reader) eventName(n *document.Node) string {
	name := n.Get("event")
	switch {
	case name == nil && !n.Broken:
		r.Add(n, "write `event: NAME`", "the event has no name")
	case name != nil && strings.Contains(name.Text, "${"):
		r.Add(name, "write a plain name, and what differs into `key`", "the name of an event holds no expression")
	}
	return text(n, "event")
}

func (r *reader) emit(s *Step, v *document.Node) {
	e := &Emit{Event: r.eventName(v)}
	s.Action = e
	r.textIn(s, v, "key", actionRole, &s.ActionUses, &e.Key)
	r.valueIn(s, v, "data", actionRole, &s.ActionUses, &e.Data)
	to := v.Get("to")
	if to == nil {
		return
	}
	e.To = &Recipient{Workflow: text(to, "workflow")}
	r.textIn(s, to, "run", actionRole, &s.ActionUses, &e.To.Run)
	r.textIn(s, to, "key", actionRole, &s.ActionUses, &e.To.Key)
	byRun, byWorkflow, byKey := to.Get("run") != nil, to.Get("workflow") != nil, to.Get("key") != nil
	if !to.Broken && (byRun == byWorkflow || byWorkflow != byKey) {
		r.Add(to, "write `{ run: ID }`, or `{ workflow: NAME, key: KEY }`", "`to` does not name one run")
	}
}

func (r *reader) approve(s *Step, v *document.Node) {
	a := &Approve{Within: span(v, "within"), Remind: span(v, "remind")}
	s.Action = a
	r.notLonger(v, "within")
	r.textIn(s, v, "title", actionRole, &s.ActionUses, &a.Title)
	if form := v.Get("form"); form != nil {
		a.Form = form.Raw()
		_, problems := input.Compile(form)
		r.badSchema(form, "form", problems)
	}
	if by := v.Get("by"); by != nil {
		a.By = make([]*expr.Template, len(by.Each()))
		for i, item := range by.Each() {
			r.template(s, asText(item), actionRole, &s.ActionUses, func(t *expr.Template) { a.By[i] = t })
			if why := format.NameFault(item.Text); why != "" {
				r.Add(item, "write a name, or leave `by` out to let anyone decide", "a name in `by` %s", why)
			}
		}
	}
	if notify := v.Get("notify"); notify != nil {
		a.Notify = r.alone(notify, s, "notify", notifying)
	}
}

func (r *reader) call(s *Step, v *document.Node) {
	c := &Call{Workflow: v.Text, Version: int(integer(v, "version")), Detach: set(v, "detach")}
	s.Action = c
	at := v
	if v.Kind == document.Object {
		if at = v.Get("name"); at == nil {
			if !v.Broken {
				r.Add(v, "write `name: NAME` or `name: ./file.yaml`", "`workflow` does not say which")
			}
			return
		}
		c.Workflow = at.Text
	}
	if strings.HasPrefix(c.Workflow, "./") || strings.HasPrefix(c.Workflow, "../") || strings.HasPrefix(c.Workflow, "/") {
		c.Workflow, c.File = "", c.Workflow
		if !strings.HasPrefix(c.File, "./") || strings.Contains(c.File, "..") {
			r.Add(at, "write ./file.yaml: a file beside this one or below it", "`%s` leads out of the workflow's folder", document.Clip(c.File))
		}
	}
	r.textIn(s, v, "key", actionRole, &s.ActionUses, &c.Key)
	labels := v.Get("labels")
	if labels == nil || len(labels.Items) == 0 {
		return
	}
	c.Labels = map[string]*expr.Template{}
	for i, key := range labels.Keys {
		r.template(s, asText(labels.Items[i]), actionRole, &s.ActionUses, func(t *expr.Template) { c.Labels[key.Text] = t })
	}
}

func (r *reader) savepoint(s *Step, v *document.Node) {
	s.Action = &Savepoint{}
	if v.Is("false") {
		r.Add(v, "write true, or leave the step out", "`savepoint` wants true, not false")
	}
	if s.Body.Parent != nil || s.Body.Slot != "" {
		r.Add(v, "put it among the steps at the top", "a savepoint stands at the root only")
	}
}

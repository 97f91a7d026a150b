package workflow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
	"github.com/millrace-go/millrace/workflow/internal/input"
)

// maxSharedEnv bounds the variables that every command gets: each is compiled for each step.
const maxSharedEnv = 100

// top reads the keys at the top of a file. What steps refer to comes before the steps.
func (r *reader) top(n *document.Node) {
	d := r.def
	d.Name, d.Title, d.Description = text(n, "workflow"), text(n, "title"), text(n, "description")
	d.Version, d.Deadline = int(integer(n, "version")), span(n, "deadline")
	d.OnFailure = OnFailure(cmp.Or(text(n, "on_failure"), string(Compensate)))
	d.OnCompensationFailure = OnCompensationFailure(cmp.Or(text(n, "on_compensation_failure"), string(StopUndoing)))
	if n.Get("workflow") == nil && !n.Broken {
		r.Add(n, "write `workflow: NAME` at the top", "the workflow has no name")
	}
	if schema := n.Get("input"); schema != nil {
		d.Input = schema.Raw()
		compiled, problems := input.Compile(schema)
		d.schema = compiled
		r.badSchema(schema, "input", problems)
	}
	r.labels(n.Get("labels"))
	r.vars(n.Get("vars"))
	r.defaults = n.Get("defaults")
	if env := r.defaults.Get("env"); env != nil && len(env.Items) > maxSharedEnv {
		r.Add(env, "write them on the steps that need them, or into a file", "`env` in `defaults` has more than %d variables", maxSharedEnv)
		r.defaults = nil
	}
	r.usualRetry = r.retries(r.defaults.Get("retry"))
	r.compensations(n.Get("compensations"))
	if steps := n.Get("steps"); steps != nil {
		d.Body = r.body(steps, nil, "", 1)
	} else if !n.Broken {
		r.Add(n, "write `steps:` with at least one step", "the workflow has no steps")
	}
	if finally := n.Get("finally"); finally != nil {
		if d.Finally = r.inner(finally, nil, "finally", 1, "`finally`"); d.Finally != nil {
			r.purposes[d.Finally] = finishing
		}
	}
	if output := n.Get("output"); output != nil {
		r.template(nil, output, outputRole, &d.OutputUses, func(t *expr.Template) { d.Output = t })
	}
	undone := len(d.Compensations) > 0 || slices.ContainsFunc(d.Steps, func(s *Step) bool { return s.Compensate != nil })
	if d.OnFailure == FailAtOnce && undone {
		r.Add(n.Get("on_failure"), "leave it out, or take the compensations out", "`on_failure: fail` undoes nothing, and here are compensations")
	}
}

// badSchema notes what is wrong with a JSON Schema.
func (r *reader) badSchema(n *document.Node, key string, problems []input.Problem) {
	for _, p := range problems {
		r.Add(n.At(p.Path), "mend the JSON Schema; $ref may only name a part of it, as in #/$defs/NAME", "`%s` is not a JSON Schema: %s", key, p.Message)
	}
}

func (r *reader) labels(n *document.Node) {
	if n == nil || len(n.Items) == 0 {
		return
	}
	r.def.Labels = map[string]string{}
	for i, key := range n.Keys {
		r.def.Labels[key.Text] = n.Items[i].Text
		if why := format.NameFault(key.Text); why != "" {
			r.Add(key, "write 1 to 255 characters without control characters or surrounding space", "the name of a label %s", why)
		}
		if strings.Contains(n.Items[i].Text, "${") {
			r.Add(n.Items[i], "write plain text here, and give the others at the start: --label NAME=VALUE", "`labels` hold plain text, and no expressions")
		}
	}
}

// vars reads the variables. They are set by environment variables too, so their names must differ there as well.
func (r *reader) vars(n *document.Node) {
	if n == nil {
		return
	}
	taken := map[string]string{}
	for i, key := range n.Keys {
		v, item := Var{Name: key.Text}, n.Items[i]
		if !format.IsKey(key.Text) {
			r.Add(key, "write letters, digits, _ and - only", "%q cannot be the name of a variable", document.Clip(key.Text))
		}
		variable := strings.ToUpper(strings.ReplaceAll(key.Text, "-", "_"))
		if other, ok := taken[variable]; ok {
			r.Add(key, "give one of them another name", "`%s` and `%s` are both set by MILLRACE_VAR_%s", other, key.Text, variable)
		}
		taken[variable] = key.Text
		if item.Kind == document.Object {
			v.Description = text(item, "description")
			item = item.Get("default")
		}
		if item != nil && item.Kind != document.Null {
			v.Default = item.Raw()
		}
		r.def.Vars = append(r.def.Vars, v)
	}
	slices.SortFunc(r.def.Vars, func(a, b Var) int { return strings.Compare(a.Name, b.Name) })
}

// compensations reads those that steps share.
func (r *reader) compensations(n *document.Node) {
	if n == nil {
		return
	}
	for i, key := range n.Keys {
		if !format.IsKey(key.Text) {
			r.Add(key, "write letters, digits, _ and - only", "%q cannot be the name of a compensation", document.Clip(key.Text))
		}
		item := n.Items[i]
		c := &Compensation{Name: key.Text, Once: set(item, "once")}
		r.shared[key.Text] = c
		r.def.Compensations = append(r.def.Compensations, c)
		c.Step = r.alone(item, nil, "compensations/"+key.Text, undoing)
	}
}

// varNames gives the names of the variables.
func (r *reader) varNames() *expr.Names {
	known := map[string]*expr.Names{}
	for _, v := range r.def.Vars {
		known[v.Name] = open
	}
	if len(known) == 0 {
		return why("declare them at the top: `vars: { NAME: DEFAULT }`")
	}
	return &expr.Names{Fields: maps.Clone(known)}
}

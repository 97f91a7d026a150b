package workflow

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// Builder makes a definition in Go. It assembles the document that a file would hold and sends it through the same checks,
// so the value is the same as that of the file. Expressions are written as in files: `When("steps.a.output > 1")`,
// `With(map[string]any{"sum": "${ input.sum }"})`. It is not safe for concurrent use.
type Builder struct {
	doc    *document.Node
	faults []fault
}

// fault is a value that cannot be written as JSON.
type fault struct {
	at     *document.Node
	reason string
}

// NewBuilder begins a workflow. Version 0 leaves the version to the registration.
func NewBuilder(name string, version int) *Builder {
	b := &Builder{doc: document.NewObject().Set("workflow", document.NewText(name))}
	if version != 0 {
		b.doc.Set("version", whole64(version))
	}
	return b
}

// Title sets a short name for people.
func (b *Builder) Title(text string) *Builder { b.doc.Set("title", document.NewText(text)); return b }

// Description says what the workflow is for.
func (b *Builder) Description(text string) *Builder {
	b.doc.Set("description", document.NewText(text))
	return b
}

// Input sets the JSON Schema of the run's input: anything that marshals to one, such as a map or a json.RawMessage.
func (b *Builder) Input(schema any) *Builder { b.put("input", schema); return b }

// Output sets the run's output, a value with ${ expressions }; without it the run gives what its last steps gave.
func (b *Builder) Output(value any) *Builder { b.put("output", value); return b }

// Steps sets the steps: [GraphOf] or [SequenceOf].
func (b *Builder) Steps(body *BodyDraft) *Builder {
	b.doc.Set(body.way, body.node)
	b.faults = append(b.faults, body.faults...)
	return b
}

// Build checks what was assembled. The error is a *[Mistakes]; a mistake names the part by its JSON pointer. The builder may
// be used again; later changes do not touch the definition.
func (b *Builder) Build() (*Definition, error) {
	l := &document.Ledger{}
	for _, f := range b.faults {
		l.Add(f.at, "give a value that encoding/json can write", "%s", f.reason)
	}
	doc := b.doc.Clone()
	if doc.Depth() > document.MaxNesting || doc.Size() > document.MaxValues {
		l.Add(doc, "make it flatter, or split it", "the workflow is nested deeper than 64 or holds more than 250,000 values")
	}
	l.Storable(doc)
	if err := l.Err(); err != nil {
		return nil, err
	}
	d := build(l, doc)
	if err := l.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

func (b *Builder) put(key string, v any) {
	n, reason := document.Of(v)
	b.doc.Set(key, n)
	if reason != "" {
		b.faults = append(b.faults, fault{n, reason})
	}
}

func whole64(n int) *document.Node          { return document.NewNumber(strconv.Itoa(n)) }
func timeOf(d time.Duration) *document.Node { return document.NewText(format.FormatDuration(d)) }

// BodyDraft is a body being built.
type BodyDraft struct {
	way    string // the key that holds it: steps or do
	node   *document.Node
	faults []fault
}

// GraphOf makes a graph: each step needs a key, and starts when those that lead to it say so.
func GraphOf(steps ...*StepDraft) *BodyDraft {
	b := &BodyDraft{way: "steps", node: document.NewObject()}
	for _, s := range steps {
		b.node.Put(document.NewText(s.key), s.node)
		b.faults = append(b.faults, s.faults...)
	}
	return b
}

// SequenceOf makes a sequence: one step at a time, from first to last. Steps that nothing names may have an empty key.
func SequenceOf(steps ...*StepDraft) *BodyDraft {
	b := &BodyDraft{way: "steps", node: document.NewList()}
	for _, s := range steps {
		if s.key != "" {
			s.node.Set("id", document.NewText(s.key))
		}
		b.node.Append(s.node)
		b.faults = append(b.faults, s.faults...)
	}
	return b
}

// One makes the body of one step, whose key is not used.
func One(step *StepDraft) *BodyDraft {
	return &BodyDraft{way: "do", node: step.node, faults: step.faults}
}

// CaseDraft is one way of a switch, or one entry of a catch, being built.
type CaseDraft struct {
	node   *document.Node
	faults []fault
}

// GoTo makes a case that leads to a step; an empty condition takes everything. In a sequence "end" ends the scope.
func GoTo(when, next string) *CaseDraft {
	return (&CaseDraft{node: document.NewObject()}).when(when).set("next", document.NewText(next))
}

// Inside makes a case whose body runs in place; an empty condition takes everything.
func Inside(when string, body *BodyDraft) *CaseDraft {
	c := (&CaseDraft{node: document.NewObject()}).when(when).set(body.way, body.node)
	c.faults = append(c.faults, body.faults...)
	return c
}

// Only says which error codes an entry of a catch takes.
func (c *CaseDraft) Only(codes ...string) *CaseDraft { return c.set("only", document.NewTexts(codes)) }

// Except says which error codes an entry of a catch does not take.
func (c *CaseDraft) Except(codes ...string) *CaseDraft {
	return c.set("except", document.NewTexts(codes))
}

func (c *CaseDraft) set(key string, v *document.Node) *CaseDraft { c.node.Set(key, v); return c }

func (c *CaseDraft) when(condition string) *CaseDraft {
	if condition != "" {
		c.node.Set("when", document.NewText(condition))
	}
	return c
}

// StepDraft is a step being built. Its methods set the keys that a file has under the same names, and give the step back. A
// step belongs to one place of one body.
type StepDraft struct {
	key    string
	node   *document.Node
	action *document.Node // what the action's key holds
	faults []fault
}

func newStep(key, action string, v *document.Node) *StepDraft {
	return &StepDraft{key: key, node: document.NewObject().Set(action, v), action: v}
}

// NewTask makes a step done by the handler that some worker registered under this name.
func NewTask(key, handler string) *StepDraft { return newStep(key, "task", document.NewText(handler)) }

// NewRun makes a step that runs a program with arguments, in which ${ expressions } may stand; never a shell.
func NewRun(key string, argv ...string) *StepDraft {
	return newStep(key, "run", document.NewTexts(argv))
}

// NewShell makes a step that runs a script with sh -eu. Its text is not interpolated: values come through Env.
func NewShell(key, script string) *StepDraft { return newStep(key, "shell", document.NewText(script)) }

// NewSet makes a step that gives an object, in which ${ expressions } may stand.
func NewSet(key string, object any) *StepDraft {
	n, reason := document.Of(object)
	s := newStep(key, "set", n)
	return s.fault(n, reason)
}

// NewWait makes a step that waits.
func NewWait(key string, d time.Duration) *StepDraft { return newStep(key, "wait", timeOf(d)) }

// NewWaitUntil makes a step that waits until the time that an expression gives as RFC 3339 text.
func NewWaitUntil(key, until string) *StepDraft {
	return newStep(key, "wait", document.NewObject().Set("until", document.NewText(until)))
}

// NewFail makes a step that fails its scope with a code (empty: failed) and a message (empty: none).
func NewFail(key, code, message string) *StepDraft {
	v := document.NewObject()
	if code != "" {
		v.Set("code", document.NewText(code))
	}
	if message != "" {
		v.Set("message", document.NewText(message))
	}
	return newStep(key, "fail", v)
}

// NewEnd makes a step that ends its scope with success.
func NewEnd(key string) *StepDraft { return newStep(key, "end", document.NewObject()) }

// NewEndRun makes a step that ends the whole run with success.
func NewEndRun(key string) *StepDraft { return newStep(key, "end", document.NewText("run")) }

// NewSwitch makes a step that takes the first case that is true.
func NewSwitch(key string, cases ...*CaseDraft) *StepDraft {
	s := newStep(key, "switch", document.NewList())
	s.cases(s.action, cases)
	return s
}

// NewBlock makes a step that is a body in place.
func NewBlock(key string, body *BodyDraft) *StepDraft {
	s := newStep(key, body.way, body.node)
	s.faults = append(s.faults, body.faults...)
	return s
}

// NewParallel makes a step of branches that run side by side; [StepDraft.Branch] adds them.
func NewParallel(key string) *StepDraft { return newStep(key, "parallel", document.NewObject()) }

// NewMap makes a step that runs a body once for each item of the list that an expression gives.
func NewMap(key, over string, body *BodyDraft) *StepDraft {
	return newStep(key, "map", document.NewObject().Set("over", document.NewText(over))).body(body)
}

// NewLoop makes a step that runs a body again and again; Over, While, Until or Limit says how often.
func NewLoop(key string, body *BodyDraft) *StepDraft {
	return newStep(key, "loop", document.NewObject()).body(body)
}

func (s *StepDraft) fault(at *document.Node, reason string) *StepDraft {
	if reason != "" {
		s.faults = append(s.faults, fault{at, reason})
	}
	return s
}

func (s *StepDraft) set(key string, v *document.Node) *StepDraft { s.node.Set(key, v); return s }

// inside sets a key of the action. Where the action has none, the check of the document finds it.
func (s *StepDraft) inside(key string, v *document.Node) *StepDraft {
	if s.action.Kind == document.Object {
		s.action.Set(key, v)
		return s
	}
	return s.set(key, v)
}

func (s *StepDraft) body(b *BodyDraft) *StepDraft {
	s.faults = append(s.faults, b.faults...)
	return s.inside(b.way, b.node)
}

func (s *StepDraft) cases(list *document.Node, cases []*CaseDraft) {
	for _, c := range cases {
		list.Append(c.node)
		s.faults = append(s.faults, c.faults...)
	}
}

func (s *StepDraft) value(key string, v any, set func(string, *document.Node) *StepDraft) *StepDraft {
	n, reason := document.Of(v)
	return set(key, n).fault(n, reason)
}

// Branch adds a branch to a parallel step.
func (s *StepDraft) Branch(name string, body *BodyDraft) *StepDraft {
	s.faults = append(s.faults, body.faults...)
	return s.inside(name, document.NewObject().Set(body.way, body.node))
}

// Over sets the list of a loop: one pass for each item.
func (s *StepDraft) Over(list string) *StepDraft { return s.inside("over", document.NewText(list)) }

// As names the item of a map or a loop.
func (s *StepDraft) As(name string) *StepDraft { return s.inside("as", document.NewText(name)) }

// AtOnce sets how many items of a map run at once.
func (s *StepDraft) AtOnce(n int) *StepDraft { return s.inside("parallel", whole64(n)) }

// Tolerate sets how many items of a map may fail.
func (s *StepDraft) Tolerate(t Tolerate) *StepDraft {
	if t.Percent != 0 {
		return s.inside("tolerate", document.NewText(format.ShortNumber(t.Percent)+"%"))
	}
	return s.inside("tolerate", whole64(t.Count))
}

// While sets what a loop asks before a pass.
func (s *StepDraft) While(condition string) *StepDraft {
	return s.inside("while", document.NewText(condition))
}

// Until sets what a loop asks after a pass.
func (s *StepDraft) Until(condition string) *StepDraft {
	return s.inside("until", document.NewText(condition))
}

// Limit sets the most passes of a loop, as an expression.
func (s *StepDraft) Limit(passes string) *StepDraft {
	return s.inside("limit", document.NewText(passes))
}

// Every sets the pause between the passes of a loop.
func (s *StepDraft) Every(d time.Duration) *StepDraft { return s.inside("every", timeOf(d)) }

// Collect makes a loop give the list of what all its passes gave.
func (s *StepDraft) Collect() *StepDraft { return s.inside("collect", document.NewFlag(true)) }

// Data sets more about the error of a fail step.
func (s *StepDraft) Data(v any) *StepDraft { return s.value("data", v, s.inside) }

// Output sets what an end step gives as the output of its scope.
func (s *StepDraft) Output(v any) *StepDraft { return s.value("output", v, s.inside) }

// Title sets a short name for people.
func (s *StepDraft) Title(text string) *StepDraft { return s.set("title", document.NewText(text)) }

// Description says what the step is for.
func (s *StepDraft) Description(text string) *StepDraft {
	return s.set("description", document.NewText(text))
}

// After names the steps of a graph that come before.
func (s *StepDraft) After(keys ...string) *StepDraft { return s.set("after", document.NewTexts(keys)) }

// When sets the condition under which the step is not passed over.
func (s *StepDraft) When(condition string) *StepDraft {
	return s.set("when", document.NewText(condition))
}

// Join says when the step starts if several lead to it.
func (s *StepDraft) Join(j Join) *StepDraft {
	if j.Kind == JoinCount {
		return s.set("join", whole64(j.N))
	}
	return s.set("join", document.NewText(map[JoinKind]string{JoinAll: "all", JoinSettled: "settled", JoinAny: "any"}[j.Kind]))
}

// Need sets how many branches or items must succeed, as an expression.
func (s *StepDraft) Need(count string) *StepDraft {
	return s.besideOrInside("need", document.NewText(count))
}

// CancelRest stops what is no longer needed once Join or Need is met.
func (s *StepDraft) CancelRest() *StepDraft {
	return s.besideOrInside("cancel_rest", document.NewFlag(true))
}

// besideOrInside sets a key that stands inside a map but beside any other action.
func (s *StepDraft) besideOrInside(key string, v *document.Node) *StepDraft {
	if s.node.Get("map") != nil {
		return s.inside(key, v)
	}
	return s.set(key, v)
}

// Next sets the step that a sequence goes on with, or "end".
func (s *StepDraft) Next(key string) *StepDraft { return s.set("next", document.NewText(key)) }

// With sets the step's input, a value with ${ expressions }; without it the step gets what came before.
func (s *StepDraft) With(v any) *StepDraft { return s.value("with", v, s.set) }

// Attempts sets how often the step is tried in all, with the default delays.
func (s *StepDraft) Attempts(n int) *StepDraft { return s.set("retry", whole64(n)) }

// Retry sets the policies of trying again, each as it is: begin with [DefaultRetry] to keep its delays.
func (s *StepDraft) Retry(policies ...RetryPolicy) *StepDraft {
	list := document.NewList()
	for _, p := range policies {
		list.Append(policyNode(p))
	}
	return s.set("retry", list)
}

func policyNode(p RetryPolicy) *document.Node {
	n := document.NewObject().Set("delay", timeOf(p.Delay)).Set("factor", document.NewNumber(format.ShortNumber(p.Factor))).Set("max_delay", timeOf(p.MaxDelay)).
		Set("jitter", document.NewNumber(format.ShortNumber(p.Jitter)))
	if p.Grow != "" {
		n.Set("grow", document.NewText(string(p.Grow)))
	}
	if len(p.Delays) > 0 {
		delays := document.NewList()
		for _, d := range p.Delays {
			delays.Append(timeOf(d))
		}
		n.Set("delays", delays)
	} else {
		n.Set("attempts", whole64(p.Attempts))
	}
	if p.For != 0 {
		n.Set("for", timeOf(p.For))
	}
	return n.Set("only", document.NewTexts(p.Only)).Set("except", document.NewTexts(p.Except))
}

// Timeout sets how long an attempt, or the composite, may take.
func (s *StepDraft) Timeout(d time.Duration) *StepDraft { return s.set("timeout", timeOf(d)) }

// Delay sets how long to wait before the step starts.
func (s *StepDraft) Delay(d time.Duration) *StepDraft { return s.set("delay", timeOf(d)) }

// Lease sets how long its worker may be silent.
func (s *StepDraft) Lease(d time.Duration) *StepDraft { return s.set("lease", timeOf(d)) }

// Queue sets the queue of its tasks.
func (s *StepDraft) Queue(name string) *StepDraft { return s.set("queue", document.NewText(name)) }

// Priority sets how early its tasks are served: a higher number earlier.
func (s *StepDraft) Priority(n int) *StepDraft { return s.set("priority", whole64(n)) }

// Catch sets what to do when the step failed: the first entry that matches.
func (s *StepDraft) Catch(entries ...*CaseDraft) *StepDraft {
	list := document.NewList()
	s.cases(list, entries)
	return s.set("catch", list)
}

// OnError says what becomes of a failure that no catch took.
func (s *StepDraft) OnError(what OnError) *StepDraft {
	return s.set("on_error", document.NewText([...]string{"fail", "continue", "skip"}[max(0, min(int(what), 2))]))
}

// AtMostOnce forbids another attempt when the step's worker was lost.
func (s *StepDraft) AtMostOnce() *StepDraft { return s.set("at_most_once", document.NewFlag(true)) }

// Env sets variables of a command's environment, values with ${ expressions }.
func (s *StepDraft) Env(vars map[string]any) *StepDraft { return s.value("env", vars, s.set) }

// Dir sets where a command runs, inside the workflow's folder.
func (s *StepDraft) Dir(folder string) *StepDraft { return s.set("dir", document.NewText(folder)) }

// Stdin sets what a command reads.
func (s *StepDraft) Stdin(what Stdin) *StepDraft {
	return s.set("stdin", document.NewText(string(what)))
}

// Stdout sets how a command's standard output becomes its output.
func (s *StepDraft) Stdout(how Stdout) *StepDraft {
	return s.set("stdout", document.NewText(string(how)))
}

// Codes sets the error codes of a command by exit status, or of a request by the response's.
func (s *StepDraft) Codes(codes map[int]string) *StepDraft {
	n := document.NewObject()
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		n.Set(strconv.Itoa(status), document.NewText(codes[status]))
	}
	if s.node.Get("http") != nil {
		return s.inside("codes", n)
	}
	return s.set("codes", n)
}

// Meta keeps anything that other programs want to find on the step.
func (s *StepDraft) Meta(object any) *StepDraft { return s.value("meta", object, s.set) }

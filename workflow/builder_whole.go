package workflow

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// Label sets a label of the workflow's runs.
func (b *Builder) Label(name, text string) *Builder {
	b.member("labels").Set(name, document.NewText(text))
	return b
}

// Var declares a variable with its default; nil: a run cannot start without a value.
func (b *Builder) Var(name, description string, byDefault any) *Builder {
	n, reason := document.Of(byDefault)
	v := document.NewObject().Set("default", n)
	if description != "" {
		v.Set("description", document.NewText(description))
	}
	b.member("vars").Set(name, v)
	b.fault(n, reason)
	return b
}

// Defaults takes from a step what others do that do not say otherwise: Retry or Attempts, Timeout, Queue, Env. Its action and
// its key do not matter.
func (b *Builder) Defaults(from *StepDraft) *Builder {
	for _, key := range []string{"retry", "timeout", "queue", "env"} {
		if v := from.node.Get(key); v != nil {
			b.member("defaults").Set(key, v)
		}
	}
	b.faults = append(b.faults, from.faults...)
	return b
}

// Deadline sets how long a run may take.
func (b *Builder) Deadline(d time.Duration) *Builder { b.doc.Set("deadline", timeOf(d)); return b }

// OnFailure says what becomes of a run whose failure nothing handled.
func (b *Builder) OnFailure(what OnFailure) *Builder {
	b.doc.Set("on_failure", document.NewText(string(what)))
	return b
}

// OnCompensationFailure says what becomes of the rest when a compensation gave up.
func (b *Builder) OnCompensationFailure(what OnCompensationFailure) *Builder {
	b.doc.Set("on_compensation_failure", document.NewText(string(what)))
	return b
}

// Compensation declares a compensation that steps share by its name; once: it runs once in a failing scope. The step's key is
// not used.
func (b *Builder) Compensation(name string, once bool, step *StepDraft) *Builder {
	if once {
		step.set("once", document.NewFlag(true))
	}
	b.member("compensations").Set(name, step.node)
	b.faults = append(b.faults, step.faults...)
	return b
}

// Finally sets the body that runs when all else of the run is over.
func (b *Builder) Finally(body *BodyDraft) *Builder {
	b.doc.Set("finally", document.NewObject().Set(body.way, body.node))
	b.faults = append(b.faults, body.faults...)
	return b
}

// member gives the object under a key, which it makes if need be.
func (b *Builder) member(key string) *document.Node {
	if b.doc.Get(key) == nil {
		b.doc.Set(key, document.NewObject())
	}
	return b.doc.Get(key)
}

func (b *Builder) fault(at *document.Node, reason string) {
	if reason != "" {
		b.faults = append(b.faults, fault{at, reason})
	}
}

// NewHTTP makes a step that sends a request; expressions may stand in the address.
func NewHTTP(key, method, url string) *StepDraft {
	return newStep(key, "http", document.NewObject().Set("method", document.NewText(method)).Set("url", document.NewText(url)))
}

// Query adds a parameter of a request, a value with ${ expressions }.
func (s *StepDraft) Query(name string, v any) *StepDraft { return s.pair("query", name, v) }

// Header adds a header of a request, in which ${ secrets.NAME } may stand.
func (s *StepDraft) Header(name, text string) *StepDraft { return s.pair("headers", name, text) }

// Form adds a member of the form that a request sends.
func (s *StepDraft) Form(name string, v any) *StepDraft { return s.pair("form", name, v) }

// JSON sets the body of a request, a value with ${ expressions }.
func (s *StepDraft) JSON(v any) *StepDraft { return s.value("json", v, s.inside) }

// Content sets the body of a request, text with ${ expressions } that is sent as it is.
func (s *StepDraft) Content(text string) *StepDraft {
	return s.inside("body", document.NewText(text))
}

// Expect sets the statuses of a response that succeed.
func (s *StepDraft) Expect(statuses ...int) *StepDraft {
	list := document.NewList()
	for _, status := range statuses {
		list.Append(whole64(status))
	}
	return s.inside("expect", list)
}

// Full makes a request give an object of status, headers and body.
func (s *StepDraft) Full() *StepDraft { return s.inside("full", document.NewFlag(true)) }

func (s *StepDraft) pair(key, name string, v any) *StepDraft {
	if s.action.Get(key) == nil {
		s.inside(key, document.NewObject())
	}
	n, reason := document.Of(v)
	if all := s.action.Get(key); all != nil {
		all.Set(name, n)
	}
	return s.fault(n, reason)
}

// Event is an event that is waited for. An empty Key means those without a key.
type Event struct{ Name, Key string }

func (e Event) node() *document.Node {
	n := document.NewObject().Set("event", document.NewText(e.Name))
	if e.Key != "" {
		n.Set("key", document.NewText(e.Key))
	}
	return n
}

// NewAwait makes a step that waits for an event; [StepDraft.Within] bounds it.
func NewAwait(key string, e Event) *StepDraft { return newStep(key, "await", e.node()) }

// NewAwaitAll makes a step that waits for all of several events.
func NewAwaitAll(key string, events ...Event) *StepDraft { return newAwait(key, "all", events) }

// NewAwaitAny makes a step that waits for the first of several events.
func NewAwaitAny(key string, events ...Event) *StepDraft { return newAwait(key, "any", events) }

func newAwait(key, mode string, events []Event) *StepDraft {
	list := document.NewList()
	for _, e := range events {
		list.Append(e.node())
	}
	return newStep(key, "await", document.NewObject().Set(mode, list))
}

// Within bounds how long an event or a person is waited for.
func (s *StepDraft) Within(d time.Duration) *StepDraft { return s.inside("within", timeOf(d)) }

// NewEmit makes a step that tells its run an event; [StepDraft.Data] says more, [StepDraft.ToRun] and [StepDraft.ToKey] tell
// another run.
func NewEmit(key string, e Event) *StepDraft { return newStep(key, "emit", e.node()) }

// ToRun lets an event be told to the run with this id.
func (s *StepDraft) ToRun(id string) *StepDraft {
	return s.inside("to", document.NewObject().Set("run", document.NewText(id)))
}

// ToKey lets an event be told to the run of a workflow that has this key.
func (s *StepDraft) ToKey(workflow, key string) *StepDraft {
	return s.inside("to", document.NewObject().Set("workflow", document.NewText(workflow)).Set("key", document.NewText(key)))
}

// NewApprove makes a step that waits for the decision of one of these people; without any, of anyone.
func NewApprove(key, title string, by ...string) *StepDraft {
	v := document.NewObject().Set("title", document.NewText(title))
	if len(by) > 0 {
		v.Set("by", document.NewTexts(by))
	}
	return newStep(key, "approve", v)
}

// Ask sets the JSON Schema of the data that a decision brings.
func (s *StepDraft) Ask(form any) *StepDraft { return s.value("form", form, s.inside) }

// Remind sets how often those who may decide are told again.
func (s *StepDraft) Remind(every time.Duration) *StepDraft { return s.inside("remind", timeOf(every)) }

// Notify sets what tells those who may decide: a worker's step, whose key is not used.
func (s *StepDraft) Notify(step *StepDraft) *StepDraft {
	s.faults = append(s.faults, step.faults...)
	return s.inside("notify", step.node)
}

// NewCall makes a step that starts a child run of a workflow, by name or as ./file.yaml, and waits for it. [StepDraft.With]
// is its input.
func NewCall(key, workflow string) *StepDraft {
	return newStep(key, "workflow", document.NewObject().Set("name", document.NewText(workflow)))
}

// ChildVersion sets the version of a child.
func (s *StepDraft) ChildVersion(n int) *StepDraft { return s.inside("version", whole64(n)) }

// ChildKey sets the key of a child: a run that has it is found and not started anew.
func (s *StepDraft) ChildKey(key string) *StepDraft { return s.inside("key", document.NewText(key)) }

// ChildLabels sets the labels of a child, texts with ${ expressions }.
func (s *StepDraft) ChildLabels(labels map[string]string) *StepDraft {
	n := document.NewObject()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		n.Set(name, document.NewText(labels[name]))
	}
	return s.inside("labels", n)
}

// Detach lets a child go: it is not waited for.
func (s *StepDraft) Detach() *StepDraft { return s.inside("detach", document.NewFlag(true)) }

// NewSavepoint makes a step that marks what is not to be undone.
func NewSavepoint(key string) *StepDraft { return newStep(key, "savepoint", document.NewFlag(true)) }

// Compensate sets how the step is undone: a worker's step, whose key is not used.
func (s *StepDraft) Compensate(by *StepDraft) *StepDraft {
	s.faults = append(s.faults, by.faults...)
	return s.set("compensate", by.node)
}

// CompensateBy names the shared compensation that undoes the step.
func (s *StepDraft) CompensateBy(name string) *StepDraft {
	return s.set("compensate", document.NewText(name))
}

// CompensateUnknown says whether the step is undone when nobody knows if it was done.
func (s *StepDraft) CompensateUnknown(undo bool) *StepDraft {
	return s.set("compensate_unknown", document.NewFlag(undo))
}

// Concurrency bounds how many tasks of a key, a text with ${ expressions }, run at once over all runs.
func (s *StepDraft) Concurrency(key string, limit int) *StepDraft {
	return s.set("concurrency", document.NewObject().Set("key", document.NewText(key)).Set("limit", whole64(limit)))
}

// Rate bounds how many tasks of a key, a text with ${ expressions }, start in a time over all runs.
func (s *StepDraft) Rate(key string, limit int, per time.Duration) *StepDraft {
	return s.set("rate", document.NewObject().Set("key", document.NewText(key)).Set("limit", whole64(limit)).Set("per", timeOf(per)))
}

// Heartbeat sets how long a deferred task may give no sign of life.
func (s *StepDraft) Heartbeat(d time.Duration) *StepDraft { return s.set("heartbeat", timeOf(d)) }

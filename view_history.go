package millrace

import (
	"encoding/json"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// history is what the journal says of each activation, folded entry by entry.
type history struct {
	seq   int64 // entries folded
	input json.RawMessage
	steps map[string]*activity
	undos map[string]*activity // compensations, by the activation that they undo
	order ordered
	spans map[string]span // of everything that attempts lie inside of
}

// span is from when the first attempt began to when the last one ended.
type span struct{ first, last machine.Time }

// ordered is the last order of a person that still tells why a run stands where it stands.
type ordered struct {
	kind       machine.EventKind
	by, reason string
	at         machine.Time
	pause      *ordered // the pause that covers the run; nil: none
}

// activity is what the journal says of one activation.
type activity struct {
	status   string // of the last attempt: succeeded, failed, cancelled; empty while none has ended
	attempts int
	err      *machine.Error // nil also of an attempt that was lost: see failure
	errAt    int            // number of the attempt that failed; 0: the last one did not
	started  machine.Time
	finished machine.Time
}

// failure is why the last attempt at a step failed; nil when it did not.
func (a *activity) failure(step *workflow.Step) *machine.Error {
	if a.err == nil && a.errAt > 0 {
		return machine.LostError(step)
	}
	return a.err
}

func newHistory() *history {
	return &history{steps: map[string]*activity{}, undos: map[string]*activity{}, spans: map[string]span{}}
}

// add folds one entry; entries come in order.
func (h *history) add(e store.Entry) {
	h.seq = e.Seq
	switch e.Kind { //nolint:exhaustive // what other events led to stands in the documents
	case machine.RunStarted:
		h.input = e.Payload
	case machine.TaskSucceeded:
		a := h.attempt(e)
		a.status, a.err, a.errAt = "succeeded", nil, 0
	case machine.TaskFailed:
		a := h.attempt(e)
		a.status, a.err, a.errAt = "failed", decodeError(e.Payload), e.Attempt
	case machine.TaskLost:
		a := h.attempt(e)
		a.status, a.err, a.errAt = "failed", nil, e.Attempt
	case machine.TaskStopped:
		h.attempt(e).status = "cancelled"
	case machine.TaskReleased:
		h.attempt(e).finished = 0
	case machine.CancelRequested, machine.AbortRequested, machine.PauseRequested, machine.ResumeRequested, machine.RetryRequested:
		h.ordered(e)
	}
}

// ordered notes who asked for what.
func (h *history) ordered(e store.Entry) {
	var o machine.Order
	_ = json.Unmarshal(e.Payload, &o) // one that cannot be read says nothing
	now := ordered{kind: e.Kind, by: o.By, reason: o.Reason, at: e.At}
	switch e.Kind {
	case machine.PauseRequested:
		h.order.pause = &now
	case machine.ResumeRequested:
		h.order.pause = nil
	default:
		h.order = now
	}
}

// activity finds what is known of the activation or the compensation at a path.
func (h *history) activity(path string) *activity {
	if of, ok := strings.CutSuffix(path, machine.UndoSuffix); ok {
		return h.undos[of]
	}
	return h.steps[path]
}

func (h *history) attempt(e store.Entry) *activity {
	a := h.activity(e.Path)
	if a == nil {
		a = &activity{}
	}
	if of, ok := strings.CutSuffix(e.Path, machine.UndoSuffix); ok {
		h.undos[of] = a
	} else {
		h.steps[e.Path] = a
		delete(h.undos, e.Path) // it is done again
	}
	a.attempts = max(a.attempts, e.Attempt)
	began := FactsOf(e.Facts).StartedAt
	if a.started == 0 {
		a.started = began
	}
	a.finished = e.At
	for path, ok := outer(e.Path); ok; path, ok = outer(path) {
		s := h.spans[path]
		if began != 0 && (s.first == 0 || began < s.first) {
			s.first = began
		}
		s.last = e.At
		h.spans[path] = s
	}
	return a
}

// outer cuts the last part off a path: a step, an index or a try.
func outer(path string) (string, bool) {
	i := strings.LastIndexAny(path, "/[~")
	if i < 0 {
		return "", false
	}
	return path[:i], true
}

// Facts is what the journal entry that ended an attempt tells people about it. Fields that it does not tell are zero.
type Facts struct {
	Worker    string       `json:"worker"` // the process that held it
	StartedAt machine.Time `json:"started_at"`
	WaitedMS  int64        `json:"waited_ms"` // from ready to claimed
	Log       string       `json:"log"`       // the end of what it said
	Stack     string       `json:"stack"`     // of a panic
}

// FactsOf reads the facts of a journal entry. Those of another version of the program may tell less.
func FactsOf(facts json.RawMessage) Facts {
	var f Facts
	if len(facts) == 0 || json.Unmarshal(facts, &f) != nil {
		return Facts{}
	}
	return f
}

func decodeError(payload json.RawMessage) *machine.Error {
	e := &machine.Error{}
	if json.Unmarshal(payload, e) != nil || e.Code == "" {
		return &machine.Error{Code: "unknown"}
	}
	return e
}

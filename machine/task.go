package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/millrace-go/millrace/workflow"
)

// startTask makes the task of a step claimable, after a delay of its own (due zero: the step's delay).
func (t *turn) startTask(p *place, s *workflow.Step, due Time) {
	sc := t.scope(p)
	live := sc.Live[s.Index]
	sc.States[s.Index] = StepReady
	if due == 0 && s.Delay > 0 && live.Attempt == 0 {
		due = t.run.At.Add(s.Delay)
	}
	if live.Since == 0 && hasFor(s) {
		live.Since = max(t.run.At, due)
	}
	env := t.references(view{at: p, step: s, prev: live.In}, &s.Uses)
	env.Redriven = live.Redriven.given()
	t.emitTask(t.base(p, s), s, env, live.Attempt, due)
}

// startItem makes the task of item i of a map claimable; again is nil for the first attempt.
func (t *turn) startItem(q *place, again *Live, due Time) {
	s := q.body.Steps[0]
	env := t.references(view{at: q, step: s, prev: valueData(q.ownerPath, q.slot)}, &s.Uses)
	attempt := 0
	if again != nil {
		attempt, env.Redriven = again.Attempt, again.Redriven.given()
	}
	if due == 0 && attempt == 0 && s.Delay > 0 {
		due = t.run.At.Add(s.Delay)
	}
	t.emitTask(q.path, s, env, attempt, due)
}

func (t *turn) emitTask(path string, s *workflow.Step, env Env, attempt int, due Time) {
	e := StartTask{
		Path: path, Queue: cmp.Or(s.Queue, t.run.Options.Queue, DefaultQueue), Priority: s.Priority + t.run.Options.Priority,
		Due: due, Attempt: attempt, Lease: s.Lease.Milliseconds(), Held: t.run.paused() && !mutant("pause leaks"), Env: env, Refs: env.refs(),
	}
	switch a := s.Action.(type) {
	case *workflow.Task:
		e.Handler = a.Handler
	case *workflow.HTTP:
		e.Handler = HTTPHandler
	default:
		e.Handler = CommandHandler(t.run.Home)
	}
	t.emit(e)
}

// HTTPHandler is the handler's name in the lane of http steps.
const HTTPHandler = "http"

// DefaultQueue is the queue of a step that names none, in a run whose start named none.
const DefaultQueue = "default"

// CommandHandler is the handler's name in the lane of command steps of a file with this home: only processes that serve the
// file's folder take them.
func CommandHandler(home string) string { return "run@" + home }

// TaskKey is the idempotency key of the task at path: the same over retries and a redrive with the same input, different for
// every other activation, for its compensation, and after a redrive with a new input (again: the Env's; nil when there was none).
// It has letters, digits and hyphens only, so that it can stand in addresses and headers.
func TaskKey(h Header, path string, again *Redriven) string {
	if again != nil {
		path += "!" + strconv.Itoa(again.N)
	}
	sum := sha256.Sum256([]byte(path))
	return h.ID + "-" + hex.EncodeToString(sum[:8])
}

func hasFor(s *workflow.Step) bool {
	for i := range s.Retry {
		if s.Retry[i].For > 0 {
			return true
		}
	}
	return false
}

// identity gives a number in [0, 1) that depends on an attempt's identity alone.
func identity(runID, path string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID + "\x00" + path + "\x00" + strconv.Itoa(attempt)))
	x := h.Sum64()
	x ^= x >> 33 // the low bits of FNV are weak on short texts: mix them (MurmurHash3's finaliser)
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

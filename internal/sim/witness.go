package sim

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/internal/sim/internal/oracle"
	"github.com/millrace-go/millrace/internal/sim/internal/plan"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// witness is a store that sees every call that is carried out, and asks at each what must hold at that moment.
type witness struct {
	store.Store
	*sight
}

// sight is what was seen, through whichever handle of the store.
type sight struct {
	world   *world
	commits int      // settlements that were won
	latest  []string // runs that the last call of Settle changed
	taken   []store.Claimed
	expired map[attempt]bool // attempts whose lease was once found to have run out
}

// run is what the witness knows of a run.
type run struct {
	header            machine.Header
	plan              *plan.Plan
	starts            []oracle.Start // tasks, in order
	stops             []oracle.Start // tasks that were asked to stop
	seq               int64
	at                machine.Time
	changed           bool
	status            machine.Status
	answers           map[string]int    // to letters, by path
	redriven          map[string]int    // by path
	given             map[string]string // inputs that people gave, by path
	inputs            map[string]int    // how often a person gave a new input, by path
	since             map[string]int    // the attempt before the last new input, by path
	done              map[string]bool   // tasks that succeeded
	late              map[string]bool   // tasks of which it was said too late that they did
	started           map[string]bool   // tasks
	ending            machine.Status    // as finally was told
	over              bool              // it has ended once
	retries           int
	cancelled, lastly bool             // a cancel was applied; finally has begun
	lettered          bool             // it had a letter
	revoked           map[attempt]bool // attempts that an abort took away
	ended             bool
	held              map[string]holding      // tasks that are held, by path
	number            map[string]int          // last attempt that was claimed
	due               map[string]machine.Time // when a task that was started may be claimed
	claimed           []attempt
	executed          map[string][]int // attempts whose handler was called
}

type holding struct {
	attempt
	owner string
}

// current gives the token under which a task is held now, 0 for none.
func (t *sight) current(n attempt) int64 {
	if r := t.world.runs[n.run]; r != nil {
		return r.held[n.path].token
	}
	return 0
}

// Start is the store's.
func (t *witness) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	got, err := t.Store.Start(ctx, starts)
	for i := range got {
		if !got[i].Created {
			continue
		}
		w, s := t.world, &starts[i]
		r := &run{
			header: s.Run.Header, held: map[string]holding{}, number: map[string]int{}, due: map[string]machine.Time{}, executed: map[string][]int{}, answers: map[string]int{}, redriven: map[string]int{}, given: map[string]string{}, inputs: map[string]int{}, since: map[string]int{}, done: map[string]bool{}, late: map[string]bool{}, started: map[string]bool{}, revoked: map[attempt]bool{},
		}
		for _, p := range w.plans {
			if p.Name == s.Run.Workflow {
				r.plan = p
			}
		}
		for _, other := range w.order {
			if h := w.runs[other].header; h.Workflow == s.Run.Workflow && h.Key == s.Run.Key {
				w.fault("the key %s started the runs %s and %s", h.Key, h.ID, s.Run.ID)
			}
		}
		w.runs[s.Run.ID] = r
		w.order = append(w.order, s.Run.ID)
		w.say("run %s of %s exists", s.Run.ID, s.Run.Workflow)
		t.won(r, &s.Settlement, nil)
		for k := range got[i].Handed {
			w.mark("a start handed over a task")
			t.claimed(&got[i].Handed[k], s.Hand.Owner)
		}
	}
	return got, err
}

// Claim is the store's.
func (t *witness) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	got, err := t.Store.Claim(ctx, c)
	t.taken = got
	for i := range got {
		t.claimed(&got[i], c.Owner)
	}
	return got, err
}

// claimed checks that nobody else holds a task, that its number is the next, and that its time has come (invariant 3).
func (t *witness) claimed(c *store.Claimed, owner string) {
	w, r := t.world, t.world.runs[c.RunID]
	n := attempt{run: c.RunID, path: c.Path, number: c.Attempt, token: c.Token}
	w.say("  %s holds %s %s attempt %d", owner, c.RunID, c.Path, c.Attempt)
	if r.status == machine.Paused {
		w.fault("%s was claimed, and %s is paused", c.Path, c.RunID)
	}
	if before, ok := r.held[c.Path]; ok {
		w.fault("%s was claimed by %s while %s holds it", c.Path, owner, before.owner)
	}
	if c.Attempt != r.number[c.Path]+1 {
		w.fault("attempt %d of %s follows attempt %d", c.Attempt, c.Path, r.number[c.Path])
	}
	if w.now() < r.due[c.Path] {
		w.fault("%s was claimed at %s and is due at %s", c.Path, w.now().Std(), r.due[c.Path].Std())
	}
	r.held[c.Path] = holding{attempt: n, owner: owner}
	r.number[c.Path] = c.Attempt
	r.claimed = append(r.claimed, n)
	if c.Attempt > 1 {
		w.mark("a task was tried again")
	}
}

// Expired is the store's.
func (t *witness) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	got, err := t.Store.Expired(ctx, limit)
	for i := range got {
		l := &got[i]
		if h := t.world.runs[l.RunID].held[l.Path]; l.LeaseUntil < t.world.now() || t.world.dead(l.Owner) {
			t.expired[h.attempt] = true
		}
	}
	return got, err
}

// Settle is the store's.
func (t *witness) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	before := make([]map[string]store.Live, len(all))
	for i := range all {
		before[i] = t.rows(ctx, &all[i])
	}
	got, err := t.Store.Settle(ctx, all)
	t.latest = nil
	for i := range got {
		s, r := &all[i], t.world.runs[all[i].Run.ID]
		t.world.say("  settlement of %s from version %d: %s", s.Run.ID, s.From, word(got[i].Result))
		switch got[i].Result {
		case store.Won:
			t.latest = append(t.latest, s.Run.ID)
			t.won(r, s, before[i])
			for k := range got[i].Handed {
				t.world.mark("a task was handed over")
				t.claimed(&got[i].Handed[k], s.Hand.Owner)
			}
		case store.Lost:
			t.world.mark("a settlement lost to another")
		case store.Skewed:
			t.world.mark("a settlement was skewed")
		case store.Refused:
			t.world.fault("a settlement of %s was refused: %v", s.Run.ID, got[i].Err)
		}
	}
	return got, err
}

func word(r store.Result) string {
	return [...]string{"won", "lost", "skewed", "refused"}[r]
}

// rows gives the tasks that a settlement is about as they lie there before it.
func (t *witness) rows(ctx context.Context, s *store.Settlement) map[string]store.Live {
	paths := []string{}
	for _, g := range s.Guards {
		paths = append(paths, g.Path)
	}
	for _, e := range s.Effects {
		if stop, ok := e.(machine.StopTask); ok {
			paths = append(paths, stop.Path)
		}
	}
	out := map[string]store.Live{}
	if len(paths) == 0 {
		return out
	}
	live, _ := t.world.store.Tasks(ctx, tenant, s.Run.ID, paths) // without the run there are no rows
	for i := range live {
		out[live[i].Path] = live[i]
	}
	return out
}

// won takes in a settlement that was carried out.
func (t *witness) won(r *run, s *store.Settlement, before map[string]store.Live) {
	w := t.world
	t.commits++
	r.changed, r.status = true, s.Run.Status
	r.ended = r.status.Ended()
	outcomes := 0
	for i := range s.Entries {
		e := &s.Entries[i]
		w.say("    %d %s %s %d", e.Seq, e.Kind, e.Path, e.Attempt)
		if e.Seq != r.seq+1 || e.Cause < 0 || e.Cause >= e.Seq || e.At < r.at {
			w.fault("entry %d of %s follows entry %d; its cause is %d, its time %d after %d", e.Seq, r.header.ID, r.seq, e.Cause, e.At, r.at)
		}
		if e.At > w.now().Add(time.Second) {
			w.fault("entry %d of %s is of %s, and it is %s", e.Seq, r.header.ID, e.At.Std(), w.now().Std())
		}
		r.seq, r.at = e.Seq, e.At
		t.ordered(r, e)
		if e.Facts != nil && isOutcome(e.Kind) {
			outcomes++
			t.outcome(r, s, e, before[e.Path])
		}
	}
	if outcomes > 1 {
		w.mark("several outcomes in one settlement")
	}
	t.unheld(r, s)
	t.delivered(r, s)
	t.effects(r, s, before)
}

// again notes that an ended run goes on from its beginning.
func (r *run) again() {
	r.retries++
	r.cancelled, r.lastly = false, false
}

// ordered notes what people asked for.
func (t *witness) ordered(r *run, e *store.Entry) {
	switch e.Kind {
	case machine.CancelRequested:
		r.cancelled = true
	case machine.RetryRequested:
		r.again()
	case machine.TaskSucceeded:
		r.done[e.Path] = true
	case machine.TaskLate:
		r.late[e.Path] = r.late[e.Path] || e.Name == machine.LateSuccess
	case machine.RedriveRequested:
		if e.Name == string(machine.LetterFailure) {
			r.again()
		}
		r.redriven[e.Path]++
		var o machine.Order
		if json.Unmarshal(e.Payload, &o) == nil && o.Input != nil {
			r.given[e.Path] = string(o.Input)
			r.inputs[e.Path]++
			r.since[e.Path] = r.number[e.Path]
			t.world.mark("a redrive brought a new input")
		}
	default:
	}
}

func isOutcome(k machine.EventKind) bool {
	switch k {
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskLost, machine.TaskReleased, machine.TaskStopped:
		return true
	default:
		return false
	}
}

// outcome checks an entry that ends an attempt: the attempt is the one that is held, under the token that was guarded.
func (t *witness) outcome(r *run, s *store.Settlement, e *store.Entry, row store.Live) {
	w := t.world
	h, ok := r.held[e.Path]
	guarded := slices.ContainsFunc(s.Guards, func(g store.Guard) bool { return g.Path == e.Path && g.Token == h.token && g.Remove })
	if !ok || !guarded || h.number != e.Attempt {
		w.fault("entry %d ends attempt %d of %s: held is attempt %d", e.Seq, e.Attempt, e.Path, h.number)
	}
	delete(r.held, e.Path)
	switch e.Kind {
	case machine.TaskLost:
		w.mark("an attempt was lost")
		if row.LeaseUntil >= w.now() && !w.dead(h.owner) && !t.expired[h.attempt] {
			w.fault("%s was declared lost at %s; its lease holds until %s", e.Path, w.now().Std(), row.LeaseUntil.Std())
		}
		if row.Stop {
			w.mark("a lease was lost while stopping")
		}
	case machine.TaskReleased:
		w.mark("an attempt was released")
	case machine.TaskStopped:
		w.mark("a holder heeded a stop")
	case machine.TaskSucceeded:
		if row.Stop {
			w.mark("a success while stopping")
		}
	case machine.TaskFailed:
		if row.Stop {
			w.mark("a failure while stopping")
		}
	default:
	}
}

func (w *world) dead(owner string) bool {
	return slices.ContainsFunc(w.processes, func(p *process) bool { return p.name == owner && p.dead })
}

// unheld checks that what a settlement took away as held by nobody was.
func (t *witness) unheld(r *run, s *store.Settlement) {
	for _, g := range s.Guards {
		if h, ok := r.held[g.Path]; ok && g.Remove {
			t.world.fault("a settlement took %s away from %s, which holds attempt %d", g.Path, h.owner, h.number)
		}
	}
}

// delivered checks that what a settlement delivered waits no more.
func (t *witness) delivered(r *run, s *store.Settlement) {
	if len(s.Inbox) == 0 {
		return
	}
	waiting, _ := t.world.store.Inbox(t.world.ctx, forever) // no fault is planned here
	for i := range waiting {
		if slices.Contains(s.Inbox, waiting[i].Seq) {
			t.world.fault("%s: message %s was delivered and waits still", r.header.ID, waiting[i].ID)
		}
	}
}

// effects notes what a settlement started and stopped.
func (t *witness) effects(r *run, s *store.Settlement, before map[string]store.Live) {
	w := t.world
	for i, effect := range s.Effects {
		switch e := effect.(type) {
		case machine.StartTask:
			r.starts = append(r.starts, oracle.Start{Seq: s.Causes[i], Path: e.Path})
			r.due[e.Path], r.started[e.Path] = e.Due, true
			r.lastly = r.lastly || strings.HasPrefix(e.Path, "finally")
			if r.retries > 0 && e.Attempt == r.number[e.Path]+1 { // an abort may have taken an attempt away
				r.number[e.Path]++
			}
			if e.Attempt != r.number[e.Path] {
				w.fault("%s is started after attempt %d; the last was %d", e.Path, e.Attempt, r.number[e.Path])
			}
		case machine.StopTask:
			r.stops = append(r.stops, oracle.Start{Seq: s.Causes[i], Path: e.Path})
			if _, held := r.held[e.Path]; held {
				w.mark("a held task was told to stop")
				t.marked(r, e.Path)
			} else if _, there := before[e.Path]; there {
				w.mark("a task that nobody held was stopped")
			}
		case machine.OpenLetter:
			r.lettered = true
			w.mark("a letter " + string(e.Kind))
		case machine.EndRun:
			if r.ending != "" && r.ending != e.Status && e.Status != machine.Aborted && r.retries == 0 {
				w.fault("%s is %s, and finally was told that it would be %s", r.header.ID, e.Status, r.ending)
			}
			r.ending, r.over = "", true // it runs before the first ending
			w.mark("a run " + string(e.Status))
			t.ended(r, e.Status)
		}
	}
}

// ended checks that nobody holds a task of a run that has ended; of one that was aborted they are taken away.
func (t *witness) ended(r *run, how machine.Status) {
	for path, h := range r.held {
		if how != machine.Aborted {
			t.world.fault("%s has ended while %s holds %s", r.header.ID, h.owner, path)
			continue
		}
		t.world.mark("an abort took a task away")
		if strings.HasSuffix(path, "~undo") {
			t.world.mark("an abort during a compensation")
		}
		n := h.attempt
		n.token = 0
		r.revoked[n] = true
	}
	clear(r.held)
}

// marked checks that the holder of a task can hear that it is to stop.
func (t *witness) marked(r *run, path string) {
	live, _ := t.world.store.Tasks(t.world.ctx, tenant, r.header.ID, []string{path}) // the run exists
	if len(live) != 1 || !live[0].Stop {
		t.world.fault("%s: the holder of %s will never hear that it is to stop", r.header.ID, path)
	}
}

// Tell is the store's.
func (t *witness) Tell(ctx context.Context, all []store.Message) ([]error, error) {
	before, _ := t.world.store.Inbox(ctx, forever)
	got, err := t.Store.Tell(ctx, all)
	for i, m := range all {
		if i < len(got) && got[i] == nil && slices.ContainsFunc(before, func(b store.Message) bool { return b.RunID == m.RunID && b.ID == m.ID }) {
			t.world.mark("an event was told twice")
		}
	}
	return got, err
}

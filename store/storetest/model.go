package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Model does the same random commands to a store and to its model, such as memory.New, and compares every answer and, after
// each command, all that can be seen. The store's clock must stand still but for Harness.Advance. Each round opens a store
// and closes it.
func Model[S store.Store](t *testing.T, open func(t *testing.T) Harness, model func(clock func() machine.Time) S) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		h := open(t)
		p := &pair{Harness: h, test: t, ctx: t.Context(), made: map[string]machine.Time{}}
		p.model = model(func() machine.Time { return p.now })
		var err error
		if p.now, err = h.Store.Clock(p.ctx); err != nil {
			rt.Fatal(err)
		}
		p.register(rt, store.Workflow{Tenant: tenant, Name: workflow, Doc: []byte(`{}`)})
		p.register(rt, store.Workflow{Tenant: stranger, Name: workflow, Doc: []byte(`{}`)})
		rt.Repeat(p.commands())
		if err := errors.Join(h.Store.Close(), p.model.Close()); err != nil {
			rt.Fatal(err)
		}
	})
}

// pair is a store and its model.
type pair struct {
	Harness
	test   *testing.T
	model  store.Store
	ctx    context.Context //nolint:containedctx // that of one test
	now    machine.Time
	ids    []string                // of the runs that were asked for
	made   map[string]machine.Time // when, by id
	tokens int64
	marks  int64 // makes times unique
}

func (p *pair) commands() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":         p.look,
		"register": func(rt *rapid.T) { p.register(rt, drawWorkflow(rt)) },
		"start":    p.start,
		"settle":   p.settle,
		"settle2":  p.settle, // twice as often
		"claim":    p.claim,
		"claimRun": p.claimRun,
		"renew":    p.renew,
		"tell":     p.tell,
		"advance":  p.advance,
		"pause":    p.pause,
		"unpause":  p.unpause,
		"prune":    p.prune,
	}
}

// both asks both, which must answer alike, and gives the answer.
func both[T any](rt *rapid.T, p *pair, what string, ask func(s store.Store) (T, error)) T {
	rt.Helper()
	got, err := ask(p.Store)
	want, modelErr := ask(p.model)
	if kind(err) != kind(modelErr) {
		rt.Fatalf("%s: the store gave %v, its model %v", what, err, modelErr)
	}
	if reflect.DeepEqual(want, got) { // ten times faster than the comparison that can explain a difference
		return want
	}
	if diff := cmp.Diff(want, got, compare); diff != "" {
		rt.Fatalf("%s (-model +store):\n%s", what, diff)
	}
	return want
}

// kind gives the word for what callers branch on.
func kind(err error) string {
	for _, known := range []error{store.ErrNotFound, store.ErrEnded, store.ErrRefused, store.ErrSkewed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err == nil {
		return ""
	}
	return err.Error() // that of a conflict says all there is to it
}

func (p *pair) look(rt *rapid.T) {
	both(rt, p, "what can be seen", func(s store.Store) (sight, error) { return look(p.ctx, rt, s), nil })
}

type registered struct {
	Version int
	Created bool
}

func (p *pair) register(rt *rapid.T, w store.Workflow) {
	both(rt, p, "register", func(s store.Store) (registered, error) {
		version, created, err := s.Register(p.ctx, w)
		return registered{version, created}, err
	})
}

func (p *pair) start(rt *rapid.T) {
	starts := make([]store.Start, rapid.IntRange(1, 3).Draw(rt, "starts"))
	for i := range starts {
		starts[i] = p.drawStart(rt)
	}
	type answer struct {
		RunID   string
		Created bool
		Kind    string
		Handed  []claimSight
	}
	both(rt, p, "start", func(s store.Store) ([]answer, error) {
		out, err := s.Start(p.ctx, starts)
		var answers []answer
		for _, one := range out {
			answers = append(answers, answer{one.RunID, one.Created, kind(one.Err), sights(one.Handed)})
		}
		return answers, err
	})
}

func (p *pair) settle(rt *rapid.T) {
	var batch []store.Settlement
	var inbox []int // for each settlement, how many of its run's messages it delivers
	for _, id := range p.drawRuns(rt) {
		state, err := p.stateOf(id)
		if err != nil || state.Run.Status.Ended() && chance(rt, 2) {
			continue
		}
		batch = append(batch, p.drawSettlement(rt, state))
		inbox = append(inbox, rapid.IntRange(0, 2).Draw(rt, "delivered"))
	}
	type answer struct {
		Result store.Result
		Kind   string
		Clock  machine.Time
		Handed []claimSight
	}
	both(rt, p, "settle", func(s store.Store) ([]answer, error) {
		messages, err := s.Inbox(p.ctx, many)
		if err != nil {
			return nil, err
		}
		mine := slices.Clone(batch)
		for i := range mine {
			mine[i].Inbox = firstOf(messages, mine[i].Run.ID, inbox[i])
		}
		out, err := s.Settle(p.ctx, mine)
		var answers []answer
		for _, one := range out {
			answers = append(answers, answer{one.Result, kind(one.Err), one.Clock, sights(one.Handed)})
		}
		return answers, err
	})
}

// stateOf reads a run of either tenant from the model.
func (p *pair) stateOf(id string) (store.RunState, error) {
	state, err := p.model.State(p.ctx, tenant, id, nil, []string{""})
	if err != nil {
		state, err = p.model.State(p.ctx, stranger, id, nil, []string{""})
	}
	return state, err
}

// firstOf gives the numbers of the first n messages of a run.
func firstOf(messages []store.Message, runID string, n int) []int64 {
	var out []int64
	for _, m := range messages {
		if m.RunID == runID && len(out) < n {
			out = append(out, m.Seq)
		}
	}
	return out
}

func (p *pair) claim(rt *rapid.T) {
	lanes, err := p.model.Lanes(p.ctx, 0, many)
	if err != nil {
		rt.Fatal(err)
	}
	slices.SortFunc(lanes, byName)
	c := p.drawClaim(rt)
	limits := make([]int, len(lanes))
	for i := range limits {
		limits[i] = rapid.IntRange(0, 3).Draw(rt, "limit of a lane")
	}
	both(rt, p, "claim", func(s store.Store) ([]claimSight, error) {
		mine, err := s.Lanes(p.ctx, 0, many)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(mine, byName)
		c := c
		c.Lanes = nil
		for i, l := range mine {
			c.Lanes = append(c.Lanes, store.LaneLimit{Lane: l.ID, Limit: limits[i]})
		}
		out, err := s.Claim(p.ctx, c)
		return sights(out), err
	})
}

func (p *pair) claimRun(rt *rapid.T) {
	c := p.drawClaim(rt)
	c.Tenant, c.Run = drawTenant(rt), p.drawRun(rt)
	c.Handlers = rapid.SliceOfDistinct(rapid.SampledFrom(handlers), rapid.ID[string]).Draw(rt, "handlers")
	both(rt, p, "claim of a run", func(s store.Store) ([]claimSight, error) {
		out, err := s.Claim(p.ctx, c)
		return sights(out), err
	})
}

func (p *pair) renew(rt *rapid.T) {
	var list []store.Held
	for _, id := range p.drawRuns(rt) {
		for _, t := range p.tasksOf(id) {
			token := t.Token
			if rapid.IntRange(0, 5).Draw(rt, "wrong") == 0 {
				token++
			}
			list = append(list, store.Held{RunID: id, Path: t.Path, Token: token})
		}
	}
	lease := rapid.SampledFrom([]time.Duration{0, 5*time.Second + odd, 40*time.Second + odd}).Draw(rt, "lease")
	both(rt, p, "renew", func(s store.Store) ([]store.Renewed, error) { return s.Renew(p.ctx, list, lease) })
}

// tasksOf reads the tasks of a run from the model.
func (p *pair) tasksOf(id string) []store.Live {
	tasks, err := p.model.Tasks(p.ctx, tenant, id, nil)
	if err != nil {
		tasks, _ = p.model.Tasks(p.ctx, stranger, id, nil)
	}
	return tasks
}

func (p *pair) tell(rt *rapid.T) {
	messages := make([]store.Message, rapid.IntRange(1, 3).Draw(rt, "messages"))
	for i := range messages {
		messages[i] = p.drawMessage(rt)
	}
	both(rt, p, "tell", func(s store.Store) ([]string, error) {
		out, err := s.Tell(p.ctx, messages)
		var kinds []string
		for _, one := range out {
			kinds = append(kinds, kind(one))
		}
		return kinds, err
	})
}

func (p *pair) advance(rt *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 10 * time.Second, time.Minute,
	}).Draw(rt, "advance")
	p.Advance(d)
	p.now = p.now.Add(d)
}

func (p *pair) pause(rt *rapid.T) {
	pause := drawPause(rt)
	both(rt, p, "pause", func(s store.Store) (bool, error) { return s.Pause(p.ctx, pause) })
}

func (p *pair) unpause(rt *rapid.T) {
	pause := drawPause(rt)
	both(rt, p, "unpause", func(s store.Store) (bool, error) {
		return s.Unpause(p.ctx, pause.Tenant, pause.Kind, pause.Name)
	})
}

func (p *pair) prune(rt *rapid.T) {
	order := p.drawPrune(rt)
	both(rt, p, "prune", func(s store.Store) ([]store.PrunedRun, error) {
		var all []store.PrunedRun
		for o := order; ; {
			out, err := s.Prune(p.ctx, o)
			all = append(all, out.Runs...)
			if err != nil || out.Next == "" || o.Limit == 1 {
				return all, err
			}
			o.After = out.Next
		}
	})
}

// claimSight is a claimed task in a form that two stores can be compared in: of the documents, those on its path.
type claimSight struct {
	Task      store.Task
	Token     int64
	Version   int64
	Header    machine.Header
	Status    machine.Status
	Seq       int64
	Root      string
	Documents map[string]string
	Payloads  map[machine.Ref]json.RawMessage
}

func sights(claimed []store.Claimed) []claimSight {
	var out []claimSight
	for _, c := range claimed {
		r := c.Run.Run
		one := claimSight{
			Task: c.Task, Token: c.Token, Version: c.Run.Version, Header: r.Header, Status: r.Status, Seq: r.Seq,
			Root: string(r.EncodeRoot()), Documents: map[string]string{}, Payloads: c.Payloads,
		}
		plainTask(&one.Task)
		copied := r.Saved()
		for _, path := range machine.Documents(c.Path) {
			if r.Known(path) {
				one.Documents[path] = ""
				copied.Touch(path)
			}
		}
		for _, change := range copied.Changes() {
			one.Documents[change.Path] = string(change.Doc)
		}
		out = append(out, one)
	}
	return out
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
)

// doubter is an engine without loops, at a store that is away after it carried out a call and before it answered.
type doubter struct {
	*world
	shelf
	engine *engine.Engine
}

func (w *world) doubter(slots int) *doubter {
	w.t.Helper()
	d := &doubter{world: w, shelf: shelf{}}
	var err error
	d.engine, err = engine.New(w.st, engine.Config{
		Owner: "e", Slots: slots, Launcher: d.shelf, Logger: slog.New(slog.DiscardHandler),
		Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// lose has the answers of an operation be lost.
func (d *doubter) lose(op string) {
	d.st.Replan(func(got string, _ int) faulty.Fault {
		if got == op {
			return faulty.Fault{Lose: faulty.Outage(op)}
		}
		return faulty.Fault{}
	})
}

func (d *doubter) claim()  { d.engine.Hint(); d.step(d.engine.ClaimOnce(d.ctx)) }
func (d *doubter) settle() { d.step(d.engine.SettleOnce(d.ctx)) }
func (d *doubter) sweep()  { d.step(d.engine.SweepOnce(d.ctx)) }

func (d *doubter) step(_ int, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Log(err)
	}
}

// begin starts a run here.
func (d *doubter) begin(workflow string) string {
	d.t.Helper()
	got, err := d.engine.Start(d.ctx, []engine.StartRequest{{Tenant: tenant, Workflow: workflow, Input: json.RawMessage("null")}})
	if err != nil || got[0].Err != nil {
		d.t.Fatal(err, got)
	}
	return got[0].RunID
}

// A10, A11: an outage lasted longer than the lease, and the call before it was carried out, but not answered. Whoever comes first
// when the store is back, the sweep or who asks for what is held, the tasks are taken up, and executed once.
func TestWhatALostAnswerHoldsIsTakenUpOnceThoughItsLeaseRanOut(t *testing.T) {
	t.Parallel()
	calls := map[string]func(d *doubter) (id string, begun []string){
		"Claim": func(d *doubter) (string, []string) {
			id := d.start("two", "null")
			d.lose("Claim")
			d.claim()
			return id, nil
		},
		"Start": func(d *doubter) (id string, begun []string) {
			d.claim()
			d.lose("Start")
			time.AfterFunc(time.Second, func() { d.st.Replan(nil) })
			return d.begin("two"), nil
		},
		"Settle": func(d *doubter) (string, []string) {
			id := d.start("two", "null")
			d.claim()
			d.lose("Settle")
			d.shelf["a"].done(engine.Outcome{})
			d.settle()
			return id, []string{"a"}
		},
	}
	for op, call := range calls {
		for name, first := range map[string]func(d *doubter){"sweep first": (*doubter).sweep, "claim first": (*doubter).claim} {
			t.Run(op+", "+name, func(t *testing.T) {
				t.Parallel()
				in(t, func(w *world) {
					w.define("workflow: two\nversion: 1\nsteps:\n  a: { task: work }\n  b: { after: a, task: work }\n")
					d := w.doubter(10)
					id, begun := call(d)
					pass(2 * time.Minute)
					d.st.Replan(nil)
					first(d)
					d.executeOnce(id, begun)
				})
			})
		}
	}
}

// executeOnce has both steps be executed, those that were not, and checks that nothing else was told of them.
func (d *doubter) executeOnce(id string, begun []string) {
	d.t.Helper()
	for _, path := range []string{"a", "b"} {
		for range 3 { // the flight may have to wait
			d.claim()
			d.settle()
			pass(5 * time.Second)
			d.sweep()
		}
		if d.shelf[path].done == nil {
			d.t.Fatalf("%s was not begun:\n%s", path, d.story(id))
		}
		if !slices.Contains(begun, path) {
			d.shelf[path].done(engine.Outcome{})
			d.settle()
		}
		if got := d.kinds(id, path); !slices.Equal(got, []machine.EventKind{machine.TaskSucceeded}) {
			d.t.Errorf("%s has %v:\n%s", path, got, d.story(id))
		}
	}
}

// A11: what a claim holds whose answer was lost is given back when there is no slot for it.
func TestWhatALostAnswerHoldsIsGivenBackWhenNoSlotIsFree(t *testing.T) {
	t.Parallel()
	in(t, func(w *world) {
		w.define(one)
		w.define("workflow: elsewhere\nversion: 1\nsteps:\n  - { id: work, task: work, queue: elsewhere }\n")
		d := w.doubter(1)
		id := d.start("one", "null")
		d.lose("Claim")
		d.claim()
		d.st.Replan(nil)
		other := d.begin("elsewhere")
		if d.engine.Holding() != 1 {
			t.Fatal("the run that was started here was not handed over")
		}
		pass(2 * time.Minute)
		d.sweep()
		w.settleAll(d.engine)
		if got := w.kinds(id, "work"); !slices.Equal(got, []machine.EventKind{machine.TaskReleased}) {
			t.Errorf("it has %v", got)
		}
		d.shelf["work"].done(engine.Outcome{})
		w.settleAll(d.engine)
		d.claim()
		d.shelf["work"].done(engine.Outcome{})
		w.settleAll(d.engine)
		for _, id := range []string{id, other} {
			if s := w.state(id).Status; s != machine.Succeeded {
				t.Errorf("run %s is %s:\n%s", id, s, w.story(id))
			}
		}
	})
}

// late is a store that carries claims and settlements out at once, and answers late.
type late struct {
	store.Store
	asked chan string // the calls that are in flight; roomy, so that none goes by unheard
}

func (l *late) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	out, err := l.Store.Claim(ctx, c)
	return out, errors.Join(err, l.answer(ctx, "Claim"))
}

func (l *late) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	out, err := l.Store.Settle(ctx, all)
	return out, errors.Join(err, l.answer(ctx, "Settle"))
}

func (l *late) answer(ctx context.Context, op string) error {
	l.asked <- op
	pass(300 * time.Millisecond)
	return ctx.Err()
}

// A9: a process is told to leave while a claim is in flight, or a settlement that hands over: what they bring is given back before
// it has left, not when its lease ends.
func TestWhatACallBringsToAProcessThatLeavesIsNotKept(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Claim", "Settle"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define("workflow: two\nversion: 1\nsteps:\n  a: { task: work }\n  b: { after: a, task: work }\n")
				id := w.start("two", "null")
				l := &late{Store: w.memory, asked: make(chan string, 1_000)}
				_, stop := w.runs(l, engine.Config{Grace: time.Second, Handlers: map[string]engine.Handler{"work": engine.HandlerFunc(ok)}})
				for got := ""; got != op; {
					got = <-l.asked
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				live, err := w.memory.Tasks(w.ctx, tenant, id, []string{"a", "b"})
				if err != nil || slices.ContainsFunc(live, func(l store.Live) bool { return l.State == store.Leased }) {
					t.Errorf("left is %+v, %v", live, err)
				}
			})
		})
	}
}

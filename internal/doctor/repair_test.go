package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/doctor"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// meddle writes to a run what no machine decided.
func (w *ward) meddle(id string, change func(s *store.Settlement)) {
	w.t.Helper()
	state, err := w.st.State(w.ctx, tenant, id, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	s := store.Settlement{Run: state.Run, From: state.Version, At: machine.TimeOf(time.Now())}
	change(&s)
	for range s.Effects {
		s.Causes = append(s.Causes, 1)
	}
	if got, err := w.st.Settle(w.ctx, []store.Settlement{s}); err != nil || got[0].Result != store.Won {
		w.t.Fatal(got, err)
	}
}

func (w *ward) token(id, path string) int64 {
	w.t.Helper()
	live, err := w.st.Tasks(w.ctx, tenant, id, []string{path})
	if err != nil || len(live) != 1 {
		w.t.Fatal(live, err)
	}
	return live[0].Token
}

// stuckText is a run of which a map's item waits for a handler that nobody serves, and a branch is held.
const stuckText = `
workflow: w
version: 1
steps:
  many: { map: { over: input, as: n, steps: [ { id: one, task: work }, { id: two, task: nobody } ] } }
  flat: { map: { over: input, as: n, do: { task: nobody } } }
  held: { task: hang }
  nap: { wait: 1h }
`

// X13
func TestWhatWasMeddledWithIsNamedAndMended(t *testing.T) {
	t.Parallel()
	guard := func(w *ward, id, path string) store.Guard {
		return store.Guard{Path: path, Token: w.token(id, path), Remove: true}
	}
	effect := func(e machine.Effect) func(*ward, string) {
		return func(w *ward, id string) {
			w.meddle(id, func(s *store.Settlement) { s.Effects = []machine.Effect{e} })
		}
	}
	tests := map[string]struct {
		damage func(w *ward, id string)
		check  doctor.Check
		says   string
		want   doctor.Repaired
	}{
		"garbage for the root's document": {
			damage: func(w *ward, id string) { w.st.Damage(id, "", []byte("{")) },
			check:  doctor.Documents, says: "the root's document cannot be read", want: doctor.Repaired{Documents: []string{""}},
		},
		"garbage for the document of an item": {
			damage: func(w *ward, id string) { w.st.Damage(id, "many[1]", []byte("\x00")) },
			check:  doctor.Documents, says: "document many[1] cannot be read", want: doctor.Repaired{Documents: []string{"many[1]"}},
		},
		"garbage for a document of results": {
			damage: func(w *ward, id string) { w.st.Damage(id, "flat[0:]", []byte("7")) },
			check:  doctor.Documents, says: "document flat[0:] cannot be read", want: doctor.Repaired{Documents: []string{"flat[0:]"}},
		},
		"a document that says something else": {
			damage: func(w *ward, id string) { w.st.Damage(id, "many[2]", []byte(`{"s":"p2"}`)) },
			check:  doctor.Documents, says: "document many[2] is not what the journal gives", want: doctor.Repaired{Documents: []string{"many[2]"}},
		},
		"a document that should not be there": {
			damage: func(w *ward, id string) { w.st.Damage(id, "many[7]", []byte(`{"s":"p2"}`)) },
			check:  doctor.Documents, says: "document many[7] should not be there", want: doctor.Repaired{Documents: []string{"many[7]"}},
		},
		"a document that is gone": {
			damage: func(w *ward, id string) {
				w.meddle(id, func(s *store.Settlement) {
					_ = s.Run.Put("many[0]", nil)
					s.Run.Touch("many[0]")
				})
			},
			check: doctor.Documents, says: "document many[0] is missing", want: doctor.Repaired{Documents: []string{"many[0]"}},
		},
		"another status": {
			damage: func(w *ward, id string) { w.meddle(id, func(s *store.Settlement) { s.Run.Status = machine.Stopping }) },
			check:  doctor.Documents, says: "stored as stopping",
		},
		"a task that is gone": {
			damage: func(w *ward, id string) {
				w.meddle(id, func(s *store.Settlement) {
					s.Guards = []store.Guard{guard(w, id, "flat[2]"), guard(w, id, "many[0]/two")}
				})
			},
			check: doctor.Tasks, says: "task flat[2] is missing", want: doctor.Repaired{Tasks: []string{"flat[2]", "many[0]/two"}},
		},
		"a task too many": {
			damage: effect(machine.StartTask{Path: "ghost", Queue: "default", Handler: "nobody"}),
			check:  doctor.Tasks, says: "task ghost should not be there", want: doctor.Repaired{Tasks: []string{"ghost"}},
		},
		"a task of another handler": {
			damage: func(w *ward, id string) {
				w.meddle(id, func(s *store.Settlement) {
					s.Guards = []store.Guard{guard(w, id, "flat[0]")}
					s.Effects = []machine.Effect{machine.StartTask{Path: "flat[0]", Queue: "default", Handler: "somebody"}}
				})
			},
			check: doctor.Tasks, says: "task flat[0] is not as the journal started it", want: doctor.Repaired{Tasks: []string{"flat[0]"}},
		},
		"tasks that are held back without a pause": {
			damage: effect(machine.HoldTasks{}), check: doctor.Tasks, says: "or the reverse",
		},
		"a timer that is gone": {
			damage: effect(machine.CancelTimer{Key: "nap!wait"}),
			check:  doctor.Timers, says: "timer nap!wait is missing", want: doctor.Repaired{Timers: []string{"nap!wait"}},
		},
		"a timer too many": {
			damage: effect(machine.SetTimer{Key: "x", Due: machine.TimeOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}),
			check:  doctor.Timers, says: "timer x should not be there", want: doctor.Repaired{Timers: []string{"x"}},
		},
		"a letter too many": {
			damage: effect(machine.OpenLetter{Kind: machine.LetterParked, Path: "held", Error: &machine.Error{Code: "no"}}),
			check:  doctor.Letters, says: "dead letter 1 (parked held) is open", want: doctor.Repaired{Letters: []string{"parked held"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, stuckText, func(w *ward) {
				id, other := w.start(), w.start()
				w.sound(id)
				test.damage(w, id)
				failed, said := w.examine(id)
				if want := []doctor.Check{test.check}; !slices.Equal(failed, want) || !strings.Contains(said, test.says) {
					t.Errorf("found %v: %s", failed, said)
				}
				w.sound(other)
				got, err := w.doctor.Repair(w.ctx, tenant, id)
				if err != nil || got == nil {
					t.Fatal(got, err)
				}
				if diff := cmp.Diff(test.want, *got); diff != "" {
					t.Error(diff)
				}
				w.sound(id)
			})
		})
	}
}

// X13: the run that is damaged stands still, the others go on; once it is mended, it goes on by itself.
func TestDamagedRunGoesOnOnceItIsMended(t *testing.T) {
	t.Parallel()
	in(t, `
workflow: w
version: 1
steps:
  many: { map: { over: input, as: n, steps: [ { id: nap, wait: 10m }, { id: two, task: work } ] } }
`, func(w *ward) {
		bad, good := w.start(), w.start()
		w.st.Damage(bad, "many[1]", []byte("garbage"))
		<-time.After(time.Hour)
		if s := w.row(good).Status; s != machine.Succeeded {
			t.Errorf("the other run is %s", s)
		}
		if s := w.row(bad).Status; s != machine.Running {
			t.Errorf("the damaged run is %s", s)
		}
		if _, err := w.doctor.Repair(w.ctx, tenant, bad); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		if s := w.row(bad).Status; s != machine.Succeeded {
			t.Errorf("the mended run is %s", s)
		}
		w.sound(bad)
	})
}

// forgetful is a store without the values that the machine computed, and with pages of a journal that are as short as one entry.
type forgetful struct{ store.Store }

func (s forgetful) Payloads(ctx context.Context, tenant, run string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
	refs = slices.DeleteFunc(slices.Clone(refs), func(r machine.Ref) bool { return r.Key != "" })
	return s.Store.Payloads(ctx, tenant, run, refs)
}

func (s forgetful) Journal(ctx context.Context, tenant, run string, after int64, limit int) ([]store.Entry, error) {
	return s.Store.Journal(ctx, tenant, run, after, min(limit, 1))
}

// X13: what can be computed again is no damage of the journal, also where a later entry reads it, however long after.
func TestValuesThatAreMissingAreReplayedAndNamed(t *testing.T) {
	t.Parallel()
	in(t, `
workflow: w
version: 1
steps:
  - { id: title, set: { text: "${ input }" } }
  - { id: many, map: { over: "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]", as: n, do: { task: large } } }
  - { id: asked, when: "steps.title.output.text != nil", task: work }
`, func(w *ward) {
		id := w.start()
		w.sound(id)
		w.doctor.Store = forgetful{w.st}
		failed, said := w.examine(id)
		if !slices.Equal(failed, []doctor.Check{doctor.Values}) || !strings.Contains(said, "value title") {
			t.Errorf("found %v: %s", failed, said)
		}
	})
}

// torn is a store whose journals lack an entry, or have another.
type torn struct {
	store.Store
	tear func(*store.Entry) bool // it changes an entry, or says that it is gone
}

func (s torn) Journal(ctx context.Context, tenant, run string, after int64, limit int) ([]store.Entry, error) {
	all, err := s.Store.Journal(ctx, tenant, run, after, limit)
	out := all[:0]
	for _, e := range all {
		if !s.tear(&e) {
			out = append(out, e)
		}
	}
	return out, err
}

func TestDamagedJournalIsNamedAndNothingIsMended(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tear func(*store.Entry) bool
		says string
	}{
		"a gap":             {func(e *store.Entry) bool { return e.Seq == 2 }, "entry 1 is followed by entry 3"},
		"its end is gone":   {func(e *store.Entry) bool { return e.Seq > 2 }, "the journal ends at entry 2; the run says that it has 4"},
		"an unknown event":  {func(e *store.Entry) bool { e.Kind = "tasted"; return false }, "entry 1, tasted , cannot be replayed"},
		"an event is twice": {func(e *store.Entry) bool { e.Path = "many[0]/one"; return false }, "the event changes nothing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, stuckText, func(w *ward) {
				id := w.start()
				w.doctor.Store = torn{w.st, test.tear}
				failed, said := w.examine(id)
				if !slices.Equal(failed, []doctor.Check{doctor.Journal}) || !strings.Contains(said, test.says) {
					t.Errorf("found %v: %s", failed, said)
				}
				before := w.row(id).StateVersion
				var damage *doctor.DamageError
				if _, err := w.doctor.Repair(w.ctx, tenant, id); !errors.As(err, &damage) || !errors.Is(err, store.ErrDamaged) {
					t.Errorf("it gave %v", err)
				}
				if w.row(id).StateVersion != before {
					t.Error("something was changed")
				}
			})
		})
	}
}

func TestDefinitionThatCannotBeReadIsAFindingAndAStoreThatDoesNotAnswerIsNot(t *testing.T) {
	t.Parallel()
	in(t, stuckText, func(w *ward) {
		id := w.start()
		row := w.row(id)
		w.doctor.Definition = func(context.Context, machine.Header) (*workflow.Definition, error) {
			return nil, errors.New("not YAML")
		}
		if failed, said := w.examine(id); !slices.Equal(failed, []doctor.Check{doctor.Definition}) || !strings.Contains(said, "not YAML") {
			t.Errorf("found %v: %s", failed, said)
		}
		away := &store.StoreError{Op: "read", Kind: store.ErrUnavailable, Err: errors.New("away")}
		w.doctor.Definition = func(context.Context, machine.Header) (*workflow.Definition, error) { return nil, away }
		if _, _, err := w.doctor.Examine(w.ctx, &row); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("it gave %v", err)
		}
	})
}

// moving is a store whose run changes each time that its timers are read.
type moving struct {
	store.Store
	move func()
}

func (s moving) Timers(ctx context.Context, tenant, run string) ([]store.Timer, error) {
	s.move()
	return s.Store.Timers(ctx, tenant, run)
}

func TestRunThatChangesWhileItIsLookedAtIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	in(t, stuckText, func(w *ward) {
		id := w.start()
		row := w.row(id)
		times, most := 0, 3
		w.doctor.Store = moving{w.st, func() {
			if times++; times <= most {
				w.meddle(id, func(*store.Settlement) {})
			}
		}}
		if found, whole, err := w.doctor.Examine(w.ctx, &row); len(found) > 0 || !whole || err != nil {
			t.Errorf("found %v, whole %t, %v", found, whole, err)
		}
		times, most = 0, 100
		if found, whole, err := w.doctor.Examine(w.ctx, &row); len(found) > 0 || whole || err != nil {
			t.Errorf("found %v, whole %t, %v", found, whole, err)
		}
	})
}

package lease

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const run = "r"

// at gives an operation its time: two of one moment overlap.
func at(moment int64, o Operation) Operation {
	o.Call, o.Return = 10*moment, 10*moment+9
	return o
}

// unanswered makes an operation one whose answer was lost.
func unanswered(o Operation) Operation {
	o.Unknown, o.Return, o.tasks = true, math.MaxInt64, nil
	return o
}

func started(hand int64, tasks map[string]int, paths ...string) Operation {
	o := Operation{Kind: Start, made: true, token: hand, tasks: tasks}
	for _, p := range paths {
		o.effects = append(o.effects, effect{Start: p})
	}
	return o
}

func claimed(token int64, path string, attempt int) Operation {
	return Operation{Kind: Claim, token: token, tasks: map[string]int{path: attempt}}
}

// settled is a settlement of one outcome, by which the next task starts, if any.
func settled(from int64, path string, token int64, result store.Result, next string, attempt int) Operation {
	o := Operation{Kind: Settle, from: from, guards: []guard{{path, token, true}}, result: result}
	if next != "" {
		o.effects = []effect{{Start: next, Attempt: attempt}}
	}
	return o
}

func renewed(path string, token int64, lost bool) Operation {
	return Operation{Kind: Renew, path: path, token: token, lost: lost}
}

func TestTheModelTellsWhatALeaseMayDo(t *testing.T) {
	t.Parallel()
	begin := at(0, started(0, nil, "a"))
	for name, c := range map[string]struct {
		ok  bool
		all []Operation
	}{
		"a task is claimed, settled, and the next one starts": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Won, "b", 0)), at(3, claimed(8, "b", 1)),
		}},
		"a lost lease is claimed again, and its holder's outcome loses": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Won, "a", 1)), at(3, claimed(8, "a", 2)),
			at(4, settled(1, "a", 7, store.Lost, "b", 0)), at(5, renewed("a", 7, true)), at(6, renewed("a", 8, false)),
		}},
		"of two settlements at once one wins": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Lost, "b", 0)), at(2, settled(1, "a", 7, store.Won, "a", 1)),
		}},
		"both win": {false, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Won, "b", 0)), at(2, settled(1, "a", 7, store.Won, "a", 1)),
		}},
		"what is held is claimed":   {false, []Operation{begin, at(1, claimed(7, "a", 1)), at(2, claimed(8, "a", 2))}},
		"an attempt is given twice": {false, []Operation{begin, at(1, claimed(7, "a", 1)), at(2, claimed(7, "a", 1))}},
		"an attempt is left out":    {false, []Operation{begin, at(1, claimed(7, "a", 2))}},
		"a token that is not current wins": {false, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Won, "a", 1)), at(3, claimed(8, "a", 2)),
			at(4, settled(2, "a", 7, store.Won, "b", 0)),
		}},
		"a settlement that was answered is gone": {false, []Operation{
			begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Won, "b", 0)), at(3, renewed("a", 7, false)),
		}},
		"one that should win loses":   {false, []Operation{begin, at(1, claimed(7, "a", 1)), at(2, settled(1, "a", 7, store.Lost, "b", 0))}},
		"a lease that stands is lost": {false, []Operation{begin, at(1, claimed(7, "a", 1)), at(2, renewed("a", 7, true))}},
		"a task nobody started":       {false, []Operation{begin, at(1, claimed(7, "b", 1))}},
		"a run starts twice":          {false, []Operation{begin, at(1, started(0, nil, "a"))}},
		"a task outlives its run": {false, []Operation{
			at(0, started(0, nil, "a", "b")), at(1, claimed(7, "a", 1)),
			at(2, Operation{Kind: Settle, from: 1, guards: []guard{{"a", 7, true}}, effects: []effect{{End: true}}}), at(3, claimed(8, "b", 1)),
		}},
		"an unanswered settlement was carried out": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), unanswered(at(2, settled(1, "a", 7, store.Won, "b", 0))), at(3, claimed(8, "b", 1)),
		}},
		"an unanswered settlement was not carried out": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), unanswered(at(2, settled(1, "a", 7, store.Won, "b", 0))), at(3, settled(1, "a", 7, store.Won, "b", 0)),
		}},
		"an unanswered settlement is carried out late": {true, []Operation{
			begin, at(1, claimed(7, "a", 1)), unanswered(at(2, settled(1, "a", 7, store.Won, "b", 0))), at(3, renewed("a", 7, false)),
			at(4, claimed(8, "b", 1)),
		}},
		"an unanswered settlement was carried out twice": {false, []Operation{
			begin, at(1, claimed(7, "a", 1)), unanswered(at(2, settled(1, "a", 7, store.Won, "b", 0))), at(3, claimed(8, "b", 1)),
			at(4, settled(1, "a", 7, store.Won, "b", 0)),
		}},
		"an unanswered start handed over": {true, []Operation{
			unanswered(at(0, started(9, nil, "a"))), at(1, Operation{Kind: Hold, token: 9, tasks: map[string]int{"a": 1}}),
			at(2, settled(1, "a", 9, store.Won, "", 0)),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := History{Runs: map[string][]Operation{run: complete(c.all, nil)}}
			v := h.Check(5 * time.Minute)
			if ok := len(v.Wrong)+len(v.Undecided) == 0; ok != c.ok {
				t.Errorf("explained: %t, want %t: %v", ok, c.ok, v)
			}
		})
	}
}

func TestAClaimWithoutAnAnswerIsKnownByItsToken(t *testing.T) {
	t.Parallel()
	claims := map[int64]Operation{7: unanswered(at(1, Operation{Kind: Claim, token: 7}))}
	all := []Operation{at(0, started(0, nil, "a")), at(5, settled(1, "a", 7, store.Won, "a", 1)), at(6, claimed(8, "a", 2))}
	h := History{Runs: map[string][]Operation{run: complete(all, claims)}}
	if v := h.Check(5 * time.Minute); len(v.Wrong) > 0 {
		t.Error(v.Wrong)
	}
	h.Runs[run] = complete(all, nil)
	if v := h.Check(5 * time.Minute); len(v.Wrong) == 0 {
		t.Error("a token that comes from nowhere was explained")
	}
}

// silent is a store that answers claims and settlements with what it is told to.
type silent struct {
	store.Store
	err error
}

func (s silent) Claim(context.Context, store.Claim) ([]store.Claimed, error) {
	return []store.Claimed{{Task: store.Task{RunID: run, Path: "a", Attempt: 1}, Token: 7}}, s.err
}

func (s silent) Settle(_ context.Context, all []store.Settlement) ([]store.Settled, error) {
	return make([]store.Settled, len(all)), s.err
}

func TestWhatIsRecordedIsRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for owner, err := range map[string]error{"one": nil, "two": context.DeadlineExceeded} {
		r, e := NewRecorder(silent{err: err}, folder, owner)
		if e != nil {
			t.Fatal(e)
		}
		if _, e := r.Claim(t.Context(), store.Claim{Token: 7}); (e != nil) != (err != nil) {
			t.Fatalf("the claim gave %v", e)
		}
		_, e = r.Settle(t.Context(), []store.Settlement{{
			Run: &machine.Run{Header: machine.Header{ID: run}}, From: 1, Guards: []store.Guard{{Path: "a", Token: 7, Remove: true}},
			Effects: []machine.Effect{machine.StartTask{Path: "b", Attempt: 3}},
		}})
		if (e != nil) != (err != nil) {
			t.Fatalf("the settlement gave %v", e)
		}
	}
	h, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if h.Calls != 4 || h.Lost != 2 {
		t.Errorf("%d calls, %d without an answer; want 4 and 2", h.Calls, h.Lost)
	}
	won := 0
	for _, o := range h.Runs[run] {
		if o.Kind == Settle && !o.Unknown && o.from == 1 && o.effects[0] == (effect{Start: "b", Attempt: 3}) {
			won++
		}
	}
	if won != 1 {
		t.Errorf("the history is %v", h.Runs[run])
	}
}

package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

func lane(n int) store.Lane { return store.Lane{Tenant: "t", Handler: fmt.Sprint(n), Workflow: "w"} }

func TestAHintSaysWhereASettlementMadeWork(t *testing.T) {
	t.Parallel()
	task := func(n int) machine.Effect { return machine.StartTask{Path: fmt.Sprint("p", n), Handler: fmt.Sprint(n)} }
	for name, c := range map[string]struct {
		effects []machine.Effect
		handed  []store.Claimed
		want    store.Hint
		some    bool
	}{
		"nothing":         {[]machine.Effect{machine.EndRun{}}, nil, store.Hint{}, false},
		"tasks":           {[]machine.Effect{task(1), task(2), task(1)}, nil, store.Hint{Lanes: []store.Lane{lane(1), lane(2)}}, true},
		"one handed over": {[]machine.Effect{task(1), task(2)}, []store.Claimed{{Task: store.Task{Path: "p1"}}}, store.Hint{Lanes: []store.Lane{lane(2)}}, true},
		"all handed over": {[]machine.Effect{task(1)}, []store.Claimed{{Task: store.Task{Path: "p1"}}}, store.Hint{}, false},
		"held back":       {[]machine.Effect{machine.StartTask{Held: true}}, nil, store.Hint{}, false},
		"a timer":         {[]machine.Effect{task(1), machine.SetTimer{}}, nil, store.Hint{}, true},
		"a stop":          {[]machine.Effect{machine.StopTask{}}, nil, store.Hint{}, true},
		"freed tasks":     {[]machine.Effect{machine.FreeTasks{}}, nil, store.Hint{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := store.Settlement{
				Run: &machine.Run{Header: machine.Header{Tenant: "t", Workflow: "w"}}, Effects: c.effects,
			}
			got, some := s.Hint(c.handed)
			if diff := cmp.Diff(c.want, got); diff != "" || some != c.some {
				t.Errorf("%t, want %t\n%s", some, c.some, diff)
			}
		})
	}
}

func TestHintsThatWereNotHeardAreHeardTogether(t *testing.T) {
	t.Parallel()
	some := func(lanes ...store.Lane) store.Hint { return store.Hint{Lanes: lanes} }
	var many []store.Hint
	for n := range 17 {
		many = append(many, some(lane(n)))
	}
	for name, c := range map[string]struct {
		told []store.Hint
		want store.Hint
	}{
		"lanes":               {[]store.Hint{some(lane(1)), some(lane(2)), some(lane(1))}, some(lane(1), lane(2))},
		"anywhere beside one": {[]store.Hint{some(lane(1)), {}, some(lane(2))}, store.Hint{}},
		"too many":            {many, store.Hint{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan store.Hint, 1)
			for _, h := range c.told {
				h.Send(heard)
			}
			less := func(h store.Hint) map[store.Lane]bool {
				out := map[store.Lane]bool{}
				for _, l := range h.Lanes {
					out[l] = true
				}
				return out
			}
			if diff := cmp.Diff(less(c.want), less(<-heard)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

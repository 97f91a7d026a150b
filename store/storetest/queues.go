package storetest

import (
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of queues hold O6.
var queueTrials = []trial{
	{name: "the depth and the oldest age of every lane are told", hold: queueDepths, need: movesClock},
	{name: "an empty supply has no depth", hold: queueNone},
	{name: "processes are listed with what they serve", hold: queueProcesses, need: movesClock},
}

// O6
func queueDepths(f *fixture) {
	other := func(t *machine.StartTask) { t.Queue = "other" }
	later := func(t *machine.StartTask) { t.Queue, t.Due = "other", f.now().Add(time.Hour) }
	f.begin(task("taken"))
	f.takeOne()
	f.begin(task("a"), task("b"), task("c", other), task("d", later))
	f.beginAs(stranger, "", task("a"))
	first := f.now()
	f.Advance(time.Minute)
	f.begin(task("late"))
	got, err := f.s.Queues(f.ctx, tenant)
	f.must(err)
	for i := range got {
		got[i].ID = 0
	}
	lane := func(queue string) store.Lane {
		return store.Lane{Tenant: tenant, Queue: queue, Handler: handler, Workflow: workflow}
	}
	f.equal("depths", got, []store.Depth{
		{Lane: lane("main"), Ready: 3, Leased: 1, Oldest: first},
		{Lane: lane("other"), Ready: 1, Delayed: 1, Oldest: first},
	})
	f.Advance(time.Hour)
	got, err = f.s.Queues(f.ctx, tenant)
	f.must(err)
	f.equal("ready when it is due", []int{got[1].Ready, got[1].Delayed}, []int{2, 0})
}

func queueNone(f *fixture) {
	f.begin()
	got, err := f.s.Queues(f.ctx, tenant)
	f.must(err)
	f.equal("depths", len(got), 0)
}

func queueProcesses(f *fixture) {
	p := store.Process{Owner: "host-2", Host: "host", PID: 17, Serves: []string{"a", "b"}}
	f.must(f.s.Beat(f.ctx, p))
	f.must(f.s.Beat(f.ctx, store.Process{Owner: "host-1"}))
	f.Advance(time.Second)
	p.Draining = true
	f.must(f.s.Beat(f.ctx, p))
	got, err := f.s.Processes(f.ctx)
	f.must(err)
	f.equal("processes", got, []store.ProcessRow{
		{Process: store.Process{Owner: "host-1"}, BeatAt: f.now().Add(-time.Second)}, {Process: p, BeatAt: f.now()},
	})
	f.must(f.s.Retire(f.ctx, "host-2"))
	got, err = f.s.Processes(f.ctx)
	f.must(err)
	f.equal("after one retired", len(got), 1)
}

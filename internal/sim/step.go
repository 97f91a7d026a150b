package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// step does one thing that the seed chooses, and then asks the invariants.
func (w *world) step() {
	w.steps++
	if w.option.Strike != nil && w.one(20) {
		w.say("the handles are struck")
		w.option.Strike()
	}
	w.act()
	w.checkChanged()
}

func (w *world) act() {
	switch n := w.random.IntN(100); {
	case n < 30:
		w.loop(w.awake())
	case n < 42:
		w.pulse(w.awake(), 1+w.random.IntN(12))
	case n < 74:
		w.workSomewhere()
	case n < 86:
		w.pass()
	case n < 90:
		w.ask()
	case n < 94:
		w.unless("orders", w.people)
	default:
		w.unless("mischief", w.mischief)
	}
}

// unless does something unless disturbances of its kind are left out.
func (w *world) unless(kind string, f func()) {
	if !slices.Contains(w.option.Without, kind) {
		f()
	}
}

// awake chooses a process that lives and is not stalled, or starts one.
func (w *world) awake() *process {
	var all []*process
	for _, p := range w.processes {
		if !p.dead && !w.clock.Now().Before(p.stalled) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return w.spawn()
	}
	return all[w.random.IntN(len(all))]
}

// loop does one step of one of a process's loops.
func (w *world) loop(p *process) {
	name := [...]string{"claim", "claim", "settle", "settle", "settle", "renew", "control", "timeout", "sweep", "fire", "deliver", "beat"}[w.random.IntN(12)]
	w.do(p, name)
}

func (w *world) do(p *process, name string) {
	e, n := p.engine, 0
	var err error
	w.within(p, func() {
		switch name {
		case "claim":
			if w.one(2) {
				e.Hint()
			}
			n, err = e.ClaimOnce(w.ctx)
		case "settle":
			n, err = e.SettleOnce(w.ctx)
		case "renew":
			n, err = e.RenewOnce(w.ctx)
		case "control":
			n, err = e.ControlOnce(w.ctx)
		case "timeout":
			n, _ = e.TimeoutOnce(w.ctx)
		case "sweep":
			n, err = e.SweepOnce(w.ctx)
		case "fire":
			n, err = e.FireOnce(w.ctx)
		case "deliver":
			n, err = e.DeliverOnce(w.ctx)
		case "beat":
			err = e.BeatOnce(w.ctx)
		}
	})
	if n > 0 || err != nil && name == "settle" {
		w.say("%s %s: %d %s", p.name, name, n, short(err))
	}
}

func short(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	return text[:min(len(text), 60)]
}

var round = [...]string{"beat", "claim", "timeout", "control", "settle", "fire", "settle", "sweep", "renew", "deliver", "settle"}

// pulse lets a process live for some seconds, as if its loops ran: its workers answer too.
func (w *world) pulse(p *process, seconds int) {
	w.say("%s lives for %d s", p.name, seconds)
	for range seconds {
		for _, name := range round {
			w.do(p, name)
		}
		for _, j := range w.jobsOf(p) {
			if p.dead {
				return
			}
			if w.one(2) {
				w.work(j)
			}
		}
		w.clock.Advance(time.Second)
	}
}

func (w *world) jobsOf(p *process) []*job {
	var out []*job
	for _, j := range w.jobs {
		if j.process == p {
			out = append(out, j)
		}
	}
	return out
}

func (w *world) workSomewhere() {
	if w.one(20) {
		w.again()
	}
	if len(w.jobs) == 0 {
		w.pass()
		return
	}
	j := w.jobs[w.random.IntN(len(w.jobs))]
	if w.clock.Now().Before(j.process.stalled) {
		return
	}
	w.work(j)
}

// pass lets time pass: a moment, a second or two, up to what comes next, or a jump.
func (w *world) pass() {
	var d time.Duration
	switch n := w.random.IntN(20); {
	case n < 11:
		d = time.Duration(w.random.IntN(20_000)) * time.Microsecond
	case n < 16:
		d = time.Duration(w.random.IntN(2_000)) * time.Millisecond
	case n < 19:
		d = w.untilNext()
	default:
		d = time.Duration(w.random.IntN(90)) * time.Second
	}
	w.clock.Advance(d)
}

// untilNext gives the time until the next thing in the store comes due, at most a day.
func (w *world) untilNext() time.Duration {
	next := w.now().Add(24 * time.Hour)
	sooner := func(t machine.Time) {
		if t > w.now() && t < next {
			next = t
		}
	}
	for _, id := range w.order {
		if w.runs[id].ended {
			continue
		}
		timers, _ := w.store.Timers(w.ctx, tenant, id)
		for _, t := range timers {
			sooner(t.Due)
		}
		live, _ := w.store.Tasks(w.ctx, tenant, id, nil)
		for i := range live {
			if live[i].State == store.Delayed {
				sooner(live[i].Due)
			}
		}
	}
	for _, j := range w.jobs {
		if j.prepared {
			sooner(machine.TimeOf(j.readyAt))
		}
	}
	return time.Duration(next-w.now()) * time.Microsecond
}

// ask has something asked from outside: a start, or an event.
func (w *world) ask() {
	for _, x := range w.wishes {
		if !x.done && w.one(2) {
			w.start(w.awake(), x)
			return
		}
	}
	if w.one(4) && len(w.wishes) < 6 {
		w.wish()
	}
	if w.one(3) && len(w.wishes) > 0 { // whoever lost the answer asks again
		w.start(w.awake(), w.wishes[w.random.IntN(len(w.wishes))])
		return
	}
	if len(w.order) > 0 {
		w.unless("events", func() { w.tellEvent(w.order[w.random.IntN(len(w.order))]) })
	}
}

// tellEvent sends a run one of few messages, so that repeats happen.
func (w *world) tellEvent(id string) {
	n := w.random.IntN(3)
	m := store.Message{Tenant: tenant, RunID: id, ID: fmt.Sprint("m", w.random.IntN(4)), Event: machine.Event{
		Kind: machine.EventReceived, Name: "news", Key: fmt.Sprint(n), Payload: fmt.Append(nil, n),
	}}
	p := w.awake()
	w.within(p, func() {
		got, err := p.line.Tell(w.ctx, []store.Message{m})
		w.say("%s tells %s of %s: %v %s", p.name, id, m.ID, got, short(err))
	})
}

// mischief is what makes a fleet's life hard.
func (w *world) mischief() {
	p := w.awake()
	switch w.random.IntN(9) {
	case 0:
		w.crash(p)
	case 1, 2:
		d := time.Duration(5+w.random.IntN(80)) * time.Second
		p.stalled = w.clock.Now().Add(d)
		w.say("%s stalls for %s", p.name, d)
	case 3:
		d := time.Duration(1+w.random.IntN(70)) * time.Second
		p.down = w.clock.Now().Add(d)
		w.say("%s is cut off for %s", p.name, d)
	case 4:
		w.leave(p)
	case 5:
		if w.one(3) {
			p.clock.skew += time.Duration(w.random.IntN(20)-10) * time.Second
			w.say("the clock of %s is off by %s", p.name, p.clock.skew)
		}
	case 6:
		p.flaky = []int{0, 30, 150}[w.random.IntN(3)]
	default:
		if w.living() < 3 {
			w.spawn()
		}
	}
}

func (w *world) living() int {
	n := 0
	for _, p := range w.processes {
		if !p.dead {
			n++
		}
	}
	return n
}

// crash ends a process without a word. Sometimes the store can prove it.
func (w *world) crash(p *process) {
	if p.dead {
		return
	}
	p.dead = true
	for _, j := range w.jobsOf(p) {
		if j.prepared {
			w.mark("a crash between claim and outcome")
		}
		w.drop(j)
	}
	if w.one(2) && w.bury != nil {
		w.bury(p.name)
		w.mark("a process was proved dead")
	}
	w.say("%s crashes", p.name)
}

// leave takes a process one step further on its polite way out.
func (w *world) leave(p *process) {
	switch {
	case !p.leaving:
		w.say("%s drains", p.name)
		p.engine.Drain()
		p.leaving = true
	case p.engine.Holding() > 0:
		w.say("%s interrupts", p.name)
		p.engine.Interrupt()
	default:
		w.within(p, func() {
			if p.engine.Retire(w.ctx) == nil {
				p.dead = true
				for _, j := range w.jobsOf(p) { // handlers of attempts that were taken from it
					w.drop(j)
				}
				w.mark("a process left politely")
				w.say("%s leaves", p.name)
			}
		})
	}
}

const (
	maxRounds  = 3000 // after the faults have ceased
	maxJournal = 20_000
)

// settleDown lets the faults cease, and lives on until every run has ended (invariant 8).
func (w *world) settleDown() {
	w.calm = true
	w.depth = 0
	for _, p := range w.processes {
		p.stalled, p.down, p.flaky = time.Time{}, time.Time{}, 0
	}
	if w.working() == 0 {
		w.spawn()
	}
	for n := 0; w.sound(); n++ {
		busy := w.round()
		w.checkChanged()
		if w.over() {
			return
		}
		if n == maxRounds {
			w.fault("runs do not end although workers answer, time passes, and no fault is planned")
			w.tellStanding()
			return
		}
		if busy {
			w.clock.Advance(time.Second)
		} else {
			w.clock.Advance(min(w.untilNext(), 10*time.Second+w.untilNext()/2))
		}
	}
}

// working counts the processes that still claim.
func (w *world) working() int {
	n := 0
	for _, p := range w.processes {
		if !p.dead && !p.leaving {
			n++
		}
	}
	return n
}

// round lets every process that lives do everything once. It says whether anybody had anything to do.
func (w *world) round() bool {
	w.steps++
	for _, x := range w.wishes {
		if !x.done {
			w.start(w.awake(), x)
		}
	}
	version := w.truth.commits
	helped := w.help()
	for _, p := range w.processes {
		if p.dead {
			continue
		}
		for _, name := range round {
			w.do(p, name)
		}
		for _, j := range w.jobsOf(p) {
			w.work(j)
		}
	}
	return helped || w.truth.commits > version || len(w.jobs) > 0 || w.holds()
}

// holds says whether anybody holds a task: a process that is no more loses it only while others poll without a gap.
func (w *world) holds() bool {
	for _, id := range w.order {
		if len(w.runs[id].held) > 0 {
			return true
		}
	}
	return false
}

func (w *world) over() bool {
	for _, x := range w.wishes {
		if !x.done {
			return false
		}
	}
	for _, id := range w.order {
		if !w.runs[id].ended {
			return false
		}
	}
	return !w.help()
}

// tellStanding says of each run that does not end where it stands.
func (w *world) tellStanding() {
	for _, id := range w.order {
		if w.runs[id].ended {
			continue
		}
		state, err := w.store.State(w.ctx, tenant, id, nil, []string{""})
		if err != nil {
			continue
		}
		w.say("run %s stands at %s", id, state.Run.EncodeRoot())
		live, _ := w.store.Tasks(w.ctx, tenant, id, nil)
		for i := range live {
			w.say("  task %s attempt %d owner %q until %s stop %v", live[i].Path, live[i].Attempt, live[i].Owner, live[i].LeaseUntil.Std(), live[i].Stop)
		}
		timers, _ := w.store.Timers(w.ctx, tenant, id)
		for _, t := range timers {
			w.say("  timer %s at %s", t.Key, t.Due.Std())
		}
	}
}

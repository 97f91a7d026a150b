package engine

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// lanes is what this process knows of the supply: the lanes that it serves, and which of them may have work. It is guarded by
// engine.mu.
type lanes struct {
	tenants []*tenantLanes // in the order in which they were seen
	known   map[int64]*lane
	highest int64          // id of a lane that was seen
	cursor  int64          // where the next page of the walk over all lanes begins
	walked  time.Time      // last page
	asked   time.Time      // when every lane was last taken to have work
	hinted  bool           // there may be new work anywhere
	dues    []machine.Time // when tasks that were delayed here become ready, earliest first
	turn    int            // whose turn it is among the tenants
}

type tenantLanes struct {
	name      string
	workflows []*workflowLanes
	turn      int
}

type workflowLanes struct {
	name  string
	lanes []*lane
	turn  int
}

// lane is a lane that this process serves; maybe says that it may have work: it is forgotten when it came back empty, until
// a hint or a poll says otherwise.
type lane struct {
	store.Lane
	maybe bool
}

const (
	lanePage    = 1_000           // lanes read at a time
	laneWalk    = 3 * time.Second // between two pages of the walk over all lanes
	claimPoll   = time.Second     // between two claims from lanes that came back empty
	maxClaim    = 64              // lanes that one claim asks
	claimBytes  = 16 << 20        // payloads that one claim brings
	nearlyBytes = claimBytes / 2  // a claim that brought so much may have been cut short
)

func newLanes() lanes { return lanes{known: map[int64]*lane{}} }

// add takes in lanes that were read.
func (l *lanes) add(read []store.Lane, serves func(handler string) bool) {
	for _, x := range read {
		l.highest = max(l.highest, x.ID)
		if l.known[x.ID] != nil || !serves(x.Handler) {
			continue
		}
		n := &lane{Lane: x, maybe: true}
		l.known[x.ID] = n
		w := l.tenant(x.Tenant).workflow(x.Workflow)
		w.lanes = append(w.lanes, n)
	}
}

func (l *lanes) tenant(name string) *tenantLanes {
	for _, t := range l.tenants {
		if t.name == name {
			return t
		}
	}
	t := &tenantLanes{name: name}
	l.tenants = append(l.tenants, t)
	return t
}

func (t *tenantLanes) workflow(name string) *workflowLanes {
	for _, w := range t.workflows {
		if w.name == name {
			return w
		}
	}
	w := &workflowLanes{name: name}
	t.workflows = append(t.workflows, w)
	return w
}

// tell has every lane asked again.
func (l *lanes) tell() {
	for _, x := range l.known {
		x.maybe = true
	}
}

const maxDues = 1_000 // times that are remembered; polls find the rest

// foresee notes that a task becomes ready at a time to come.
func (l *lanes) foresee(due machine.Time) {
	i, found := slices.BinarySearch(l.dues, due)
	if found || i >= maxDues {
		return
	}
	l.dues = slices.Insert(l.dues[:min(len(l.dues), maxDues-1)], i, due)
}

// came says whether the time of a task that was foreseen has come. Such times are forgotten.
func (l *lanes) came(now machine.Time) bool {
	n := 0
	for n < len(l.dues) && l.dues[n] <= now {
		n++
	}
	l.dues = l.dues[n:]
	return n > 0
}

// waiting says whether a lane of the queue may have work.
func (l *lanes) waiting(queue string) bool {
	for _, x := range l.known {
		if x.maybe && x.Queue == queue {
			return true
		}
	}
	return false
}

// share divides the free slots among the lanes that may have work, one slot at a time: in turn among tenants, within a
// tenant among workflows, within a workflow among lanes. A lane whose queue has no free slot here is passed over.
func (l *lanes) share(s *slots) ([]store.LaneLimit, *reservation) {
	d := division{slots: s, reservation: newReservation(), place: map[int64]int{}}
	if len(l.tenants) == 0 {
		return nil, d.reservation
	}
	first := l.turn
	l.turn = (l.turn + 1) % len(l.tenants)
	for given := true; given; {
		given = false
		for i := range l.tenants {
			if d.reservation.total >= s.free() {
				return d.limits, d.reservation
			}
			if l.tenants[(first+i)%len(l.tenants)].give(&d) {
				given = true
			}
		}
	}
	return d.limits, d.reservation
}

// division is one sharing out of free slots.
type division struct {
	slots       *slots
	reservation *reservation
	limits      []store.LaneLimit
	place       map[int64]int // of a lane in limits
}

// give gives a tenant one slot if it can use one.
func (t *tenantLanes) give(d *division) bool {
	for i := range t.workflows {
		if t.workflows[(t.turn+i)%len(t.workflows)].give(d) {
			t.turn = (t.turn + i + 1) % len(t.workflows)
			return true
		}
	}
	return false
}

func (w *workflowLanes) give(d *division) bool {
	for i := range w.lanes {
		if d.give(w.lanes[(w.turn+i)%len(w.lanes)]) {
			w.turn = (w.turn + i + 1) % len(w.lanes)
			return true
		}
	}
	return false
}

func (d *division) give(x *lane) bool {
	if !x.maybe || !d.slots.fits(d.reservation, x.Queue) {
		return false
	}
	i, ok := d.place[x.ID]
	if !ok {
		if len(d.limits) == maxClaim {
			return false
		}
		i = len(d.limits)
		d.place[x.ID] = i
		d.limits = append(d.limits, store.LaneLimit{Lane: x.ID})
	}
	d.limits[i].Limit++
	d.reservation.add(x.Queue)
	return true
}

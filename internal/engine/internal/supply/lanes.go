package supply

import (
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Lanes is what a process knows of the supply: the lanes that it serves, and which of them may have work.
type Lanes struct {
	serves  func(handler string) bool
	tenants []*tenantLanes // in the order in which they were seen
	known   map[int64]*lane
	highest int64          // id of a lane that was seen
	cursor  int64          // where the next page of the walk over all lanes begins
	walked  time.Time      // last page
	asked   time.Time      // when every lane was last taken to have work
	hinted  bool           // there may be new work anywhere
	dues    []machine.Time // when tasks that were delayed here become ready, earliest first
	turn    int            // whose turn it is among the tenants
	given   int            // slots so far
}

type tenantLanes struct {
	name      string
	workflows []*workflowLanes
	turn      int
	first     int // the workflow to begin with when the tenant comes first again
}

type workflowLanes struct {
	name  string
	lanes []*lane
}

// lane is a lane that this process serves; maybe says that it may have work: it is forgotten when it came back empty, until
// a hint or a poll says otherwise.
type lane struct {
	store.Lane
	maybe bool
	given int // how many slots had been given in all when it was last given one
}

const (
	// Page is how many lanes are read at a time.
	Page = 1_000
	// Poll is the time between two claims from lanes that came back empty.
	Poll = time.Second

	walkEvery = 3 * time.Second // between two pages of the walk over all lanes
	maxAsked  = 64              // lanes that one claim asks
)

// NewLanes gives a supply of which nothing is known yet. serves says which handlers the process has.
func NewLanes(serves func(handler string) bool) *Lanes {
	return &Lanes{serves: serves, known: map[int64]*lane{}}
}

// Hint says that there may be new work, and new lanes, anywhere.
func (l *Lanes) Hint() { l.hinted = true }

// Reading is one reading of lanes from the store.
type Reading struct {
	After        int64
	walk, hinted bool
}

// Look decides before a claim whether lanes must be read, and from where on: new ones after a hint, and a page of all of them
// from time to time. It also has lanes asked again that came back empty when it is time to. now is the process's own time, at
// is the store's.
func (l *Lanes) Look(now time.Time, at machine.Time) (Reading, bool) {
	r := Reading{After: l.highest, hinted: l.hinted, walk: l.walked.IsZero() || now.Sub(l.walked) >= walkEvery}
	if r.walk {
		r.After = l.cursor
	}
	l.hinted = false
	if came := l.Came(at); came || r.hinted || now.Sub(l.asked) >= Poll {
		l.asked = now
		for _, x := range l.known {
			x.maybe = true
		}
	}
	return r, r.walk || r.hinted
}

// Missed is when a reading failed: the hint that it followed still holds.
func (l *Lanes) Missed(r Reading) { l.hinted = l.hinted || r.hinted }

// Took takes in what a reading gave.
func (l *Lanes) Took(r Reading, read []store.Lane, now time.Time) {
	l.add(read)
	switch {
	case r.walk:
		l.walked, l.cursor = now, 0
		if len(read) == Page {
			l.cursor = read[Page-1].ID
		}
	case len(read) == Page:
		l.hinted = true // there are more
	}
}

// Emptied forgets the lanes that gave less than they were asked for, until a hint or a poll.
func (l *Lanes) Emptied(asked []store.LaneLimit, got []store.Claimed) {
	by := make(map[int64]int, len(asked))
	for i := range got {
		by[got[i].Lane.ID]++
	}
	for _, x := range asked {
		if n := l.known[x.Lane]; n != nil && by[x.Lane] < x.Limit {
			n.maybe = false
		}
	}
}

func (l *Lanes) add(read []store.Lane) {
	for _, x := range read {
		l.highest = max(l.highest, x.ID)
		if l.known[x.ID] != nil || !l.serves(x.Handler) {
			continue
		}
		n := &lane{Lane: x, maybe: true}
		l.known[x.ID] = n
		w := l.tenant(x.Tenant).workflow(x.Workflow)
		w.lanes = append(w.lanes, n)
	}
}

func (l *Lanes) tenant(name string) *tenantLanes {
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

const maxDues = 1_000 // times that are remembered; polls find the rest

// Foresee notes that a task becomes ready at a time to come.
func (l *Lanes) Foresee(due machine.Time) {
	i, found := slices.BinarySearch(l.dues, due)
	if found || i >= maxDues {
		return
	}
	l.dues = slices.Insert(l.dues[:min(len(l.dues), maxDues-1)], i, due)
}

// Came says whether the time of a task that was foreseen has come. Such times are forgotten.
func (l *Lanes) Came(now machine.Time) bool {
	n := 0
	for n < len(l.dues) && l.dues[n] <= now {
		n++
	}
	l.dues = l.dues[n:]
	return n > 0
}

// Next gives the earliest time to come at which a task that was delayed here becomes ready; false if none is known.
func (l *Lanes) Next() (machine.Time, bool) {
	if len(l.dues) == 0 {
		return 0, false
	}
	return l.dues[0], true
}

// Waiting says whether a lane of the queue may have work.
func (l *Lanes) Waiting(queue string) bool {
	for _, x := range l.known {
		if x.maybe && x.Queue == queue {
			return true
		}
	}
	return false
}

// Share divides the free slots among the lanes that may have work, one slot at a time: in turn among tenants, within a
// tenant among workflows, within a workflow among lanes. A lane whose queue has no free slot here is passed over.
func (l *Lanes) Share(s *Slots) ([]store.LaneLimit, *Reservation) {
	d := division{lanes: l, slots: s, reservation: NewReservation(), place: map[int64]int{}}
	if len(l.tenants) == 0 {
		return nil, d.reservation
	}
	first := l.turn
	l.turn = (l.turn + 1) % len(l.tenants)
	l.tenants[first].lead()
	for given := true; given; {
		given = false
		for i := range l.tenants {
			if d.reservation.Total >= s.Free() {
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
	lanes       *Lanes
	slots       *Slots
	reservation *Reservation
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

// lead has the tenant that comes first begin with the workflow after the one that it began with when it last did: else lanes
// that are always asked together could keep the one slot of a queue from another for ever.
func (t *tenantLanes) lead() {
	t.turn = t.first % len(t.workflows)
	t.first = t.turn + 1
}

// give gives one slot to the lane of a workflow that has waited for one longest.
func (w *workflowLanes) give(d *division) bool {
	var next *lane
	for _, x := range w.lanes {
		if (next == nil || x.given < next.given) && d.takes(x) {
			next = x
		}
	}
	if next != nil {
		d.give(next)
	}
	return next != nil
}

// takes says whether a lane can use one more slot.
func (d *division) takes(x *lane) bool {
	_, asked := d.place[x.ID]
	return x.maybe && (asked || len(d.limits) < maxAsked) && d.slots.Fits(d.reservation, x.Queue)
}

func (d *division) give(x *lane) {
	i, ok := d.place[x.ID]
	if !ok {
		i = len(d.limits)
		d.place[x.ID] = i
		d.limits = append(d.limits, store.LaneLimit{Lane: x.ID})
	}
	d.limits[i].Limit++
	d.reservation.Add(x.Queue)
	d.lanes.given++
	x.given = d.lanes.given
}

package supply

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/millrace-go/millrace/store"
)

// node is who gets slots by turns: a group of queues, a tenant in it, a workflow of that, a lane. A queue with a limit of its own
// is a group, all others are one: so whatever finds no slot, finds none for its whole group. The next slot goes to the child
// that has waited for one longest. So a tenant that comes with one task while thousands have long lines is served before them,
// and nobody who waits is passed over twice by the same.
type node struct {
	name     string
	up       *node
	lane     *lane // of one without children
	children map[string]*node
	turns    turns // the children below which a lane may have work
	place    int   // in up.turns; negative: it is not there
	given    int   // how many slots had been given in all when it was last given one
	seen     int   // how many nodes were seen before it
}

func newNode(name string, up *node, seen int) *node {
	return &node{name: name, up: up, children: map[string]*node{}, place: -1, seen: seen}
}

// turns is a heap: who has waited longest since it was given a slot comes first. Of those that never were, the one that was seen
// last: it came with little, and there are only so many.
type turns []*node

// Len is that of a heap.
func (t turns) Len() int { return len(t) }

// Less is that of a heap.
func (t turns) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(t[i].given, t[j].given), cmp.Compare(t[j].seen, t[i].seen)) < 0
}

// Swap is that of a heap.
func (t turns) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push is that of a heap.
func (t *turns) Push(x any) {
	n, ok := x.(*node)
	if !ok {
		panic("a heap of nodes holds something else")
	}
	n.place = len(*t)
	*t = append(*t, n)
}

// Pop is that of a heap.
func (t *turns) Pop() any {
	last := len(*t) - 1
	n := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	n.place = -1
	return n
}

// below gives the child with a name, and makes it when it is new.
func (l *Lanes) below(n *node, name string) *node {
	if n.children[name] == nil {
		l.seen++
		n.children[name] = newNode(name, n, l.seen)
	}
	return n.children[name]
}

// enter has a node take part in the turns, and those above it.
func (n *node) enter() {
	for ; n.up != nil && n.place < 0; n = n.up {
		heap.Push(&n.up.turns, n)
	}
}

// leave takes a node out of the turns, and those above it that have nobody else.
func (n *node) leave() {
	for ; n.up != nil && n.place >= 0 && len(n.turns) == 0; n = n.up {
		heap.Remove(&n.up.turns, n.place)
	}
}

// division is one sharing out of free slots.
type division struct {
	lanes       *Lanes
	slots       *Slots
	free        int
	reservation *Reservation
	limits      []store.LaneLimit
	place       map[int64]int // of a lane in limits
	full        []*node       // groups without a free slot: they are out of the turns until all is shared out
	began       int           // slots that had been given before
}

// Share divides the free slots among the lanes that may have work, one slot at a time: in turn among groups of queues; within
// one, to the tenant that has waited for a slot longest, within it to such a workflow, within that to such a lane. A queue
// that has no free slot here is passed over. Guests, who have nothing in hand here, come first; where they are few, the others
// get nothing yet: what a claim takes grows with what it brings, and the next one is made at once. One slot is kept for them.
// Until Return, what is given counts as in hand.
func (l *Lanes) Share(s *Slots, guestsAlone bool) ([]store.LaneLimit, *Reservation) {
	d := division{lanes: l, slots: s, free: s.Free(), reservation: NewReservation(), place: map[int64]int{}, began: l.given}
	d.welcome()
	if d.free -= l.kept(s); !guestsAlone && !d.apart() {
		for d.more() && len(l.all.turns) > 0 {
			d.give(l.all.turns[0])
		}
	}
	for _, group := range d.full {
		heap.Push(&l.all.turns, group)
	}
	if len(d.limits) == maxAsked && !guestsAlone {
		d.deepen()
	}
	for _, limit := range d.limits {
		l.running[l.known[limit.Lane].Tenant] += limit.Limit
	}
	return d.limits, d.reservation
}

// Return ends the counting of what a division gave: what came of it has begun.
func (l *Lanes) Return(limits []store.LaneLimit) {
	for _, limit := range limits {
		tenant := l.known[limit.Lane].Tenant
		if l.running[tenant] -= limit.Limit; l.running[tenant] == 0 {
			delete(l.running, tenant)
		}
	}
}

const (
	few      = 8  // one slot for guests among so many free ones are few
	seatFrom = 16 // slots of which one is kept for guests
)

// kept gives the number of slots that are for guests alone: one, where there are several tenants and many slots.
func (l *Lanes) kept(s *Slots) int {
	if s.total >= seatFrom && len(l.tenants) > 1 {
		return 1
	}
	return 0
}

// Seats says whether there is a slot for one more attempt of a tenant beside so many: the one that is kept is for guests.
func (l *Lanes) Seats(s *Slots, tenant string, beside int) bool {
	return beside == 0 && l.running[tenant] == 0 || beside+l.kept(s) < s.Free()
}

func (d *division) more() bool { return d.reservation.Total < d.free && len(d.limits) < maxAsked }

// apart says whether those who were given slots as guests are few, and others wait for more.
func (d *division) apart() bool {
	n := d.reservation.Total
	return n > 0 && n*few <= d.free && slices.ContainsFunc(d.lanes.all.turns, func(group *node) bool {
		return group.turns[0].given <= d.began
	})
}

// welcome gives a slot to each tenant that has nothing in hand here and whose turn it is.
func (d *division) welcome() {
	for _, group := range slices.Clone(d.lanes.all.turns) {
		for d.more() {
			first := group.turns[0]
			if first.given > d.began || d.lanes.running[first.name] > 0 || !d.give(group) {
				break
			}
		}
	}
}

// give gives one slot to the lane of a group whose turn it is, or takes the group out when it has none.
func (d *division) give(group *node) bool {
	n := group
	for n.lane == nil {
		n = n.turns[0]
	}
	if !d.ask(n.lane) {
		heap.Remove(&d.lanes.all.turns, group.place)
		d.full = append(d.full, group)
		return false
	}
	for ; n.up != nil; n = n.up {
		n.given = d.lanes.given
		heap.Fix(&n.up.turns, n.place)
	}
	return true
}

// ask asks a lane for one task more, if its queue has a slot.
func (d *division) ask(x *lane) bool {
	if d.reservation.Total >= d.free || !d.slots.Fits(d.reservation, x.Queue) {
		return false
	}
	i, asked := d.place[x.ID]
	if !asked {
		i = len(d.limits)
		d.place[x.ID] = i
		d.limits = append(d.limits, store.LaneLimit{Lane: x.ID})
	}
	d.limits[i].Limit++
	x.asked = d.lanes.news
	d.reservation.Add(x.Queue)
	d.lanes.given++
	return true
}

// deepen asks the lanes that are asked already for the slots that are left: one claim asks no further lane.
func (d *division) deepen() {
	for given := true; given; {
		given = false
		for _, limit := range d.limits {
			given = d.ask(d.lanes.known[limit.Lane]) || given
		}
	}
}

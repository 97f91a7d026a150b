package supply

import (
	"cmp"
	"container/heap"

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
	reservation *Reservation
	limits      []store.LaneLimit
	place       map[int64]int // of a lane in limits
	full        []*node       // groups without a free slot: they are out of the turns until all is shared out
}

// Share divides the free slots among the lanes that may have work, one slot at a time: in turn among groups of queues; within
// one, to the tenant that has waited for a slot longest, within it to such a workflow, within that to such a lane. A queue
// that has no free slot here is passed over.
func (l *Lanes) Share(s *Slots) ([]store.LaneLimit, *Reservation) {
	d := division{lanes: l, slots: s, reservation: NewReservation(), place: map[int64]int{}}
	for d.reservation.Total < s.Free() && len(d.limits) < maxAsked && len(l.all.turns) > 0 {
		d.give(l.all.turns[0])
	}
	for _, group := range d.full {
		heap.Push(&l.all.turns, group)
	}
	if len(d.limits) == maxAsked {
		d.deepen()
	}
	return d.limits, d.reservation
}

// give gives one slot to the lane of a group whose turn it is, or takes the group out when it has none.
func (d *division) give(group *node) {
	n := group
	for n.lane == nil {
		n = n.turns[0]
	}
	if !d.ask(n.lane) {
		heap.Pop(&d.lanes.all.turns)
		d.full = append(d.full, group)
		return
	}
	for ; n.up != nil; n = n.up {
		n.given = d.lanes.given
		heap.Fix(&n.up.turns, n.place)
	}
}

// ask asks a lane for one task more, if its queue has a slot.
func (d *division) ask(x *lane) bool {
	if !d.slots.Fits(d.reservation, x.Queue) {
		return false
	}
	i, asked := d.place[x.ID]
	if !asked {
		i = len(d.limits)
		d.place[x.ID] = i
		d.limits = append(d.limits, store.LaneLimit{Lane: x.ID})
	}
	d.limits[i].Limit++
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

package supply

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Lanes is what a process knows of the supply: the lanes that it serves, and which of them may have work.
type Lanes struct {
	serves  func(handler string) bool
	limited func(queue string) bool
	known   map[int64]*lane
	named   map[store.Lane]*lane // the same, by lanes without ID and Paused
	stocked map[int64]*lane      // those that may have work
	queues  map[string]int       // how many those are, by queue
	all     *node                // whose turn it is
	seen    int                  // nodes below all
	given   int                  // slots so far
	running map[string]int       // attempts here, by tenant, with those that were given slots
	tenants map[string]struct{}  // of the lanes that are known
	cursor  int64                // where the next reading begins
	hinted  bool                 // there may be new work anywhere
	top     int64                // the highest lane that a reading listed
	awaited store.Lane           // one that is not known has work
	fresh   bool                 // it is looked for behind the highest first
	looking bool                 // the reading under way looks for it
	read    time.Time            // last reading
	news    int                  // how often it was said that a lane may have work
	before  int                  // what had been said when the reading began
	dues    []machine.Time       // when tasks that were delayed here become ready, earliest first

	told      map[store.Lane]time.Time // lanes that hints named, and when that is taken for true
	restraint restraint
}

// lane is a lane that this process serves. It may have work from a reading that lists it until one that does not, or until a
// claim found less in it than was asked for: one that began after the last news of it.
type lane struct {
	store.Lane
	turn  *node
	news  int // which news was the last of it
	asked int // the last news of all when a claim asked it last

	rumour bool // it may have work since a hint said so, and nothing else did
}

const (
	// Page is how many lanes are read at a time; the next reading goes on behind them.
	Page = 1_000
	// Poll is the time between two readings without a hint.
	Poll = time.Second

	breath   = 20 * time.Millisecond // between two readings while no slot is free
	breather = 20 * time.Microsecond // between two readings, for each lane that the next may list: ten times what it costs
	freshly  = time.Millisecond      // between two readings of which the second lists new lanes alone
	maxAsked = 64                    // lanes that one claim asks
)

// NewLanes gives a supply of which nothing is known yet. serves says which handlers the process has, limited which queues have
// a limit of their own.
func NewLanes(serves func(handler string) bool, limited func(queue string) bool) *Lanes {
	return &Lanes{
		serves: serves, limited: limited, known: map[int64]*lane{}, named: map[store.Lane]*lane{}, stocked: map[int64]*lane{}, queues: map[string]int{}, all: newNode("", nil, 0),
		running: map[string]int{}, tenants: map[string]struct{}{}, told: map[store.Lane]time.Time{},
	}
}

// Hint says that there may be new work, and new lanes, anywhere.
func (l *Lanes) Hint() { l.hinted = true }

// Look decides whether the lanes that hold work are to be read: after a hint, when a delayed task came due, and from time to
// time; less often while no slot is free. now is the process's own time, at is the store's.
func (l *Lanes) Look(now time.Time, at machine.Time, full bool) bool {
	if l.Came(at) {
		l.hinted = true
	}
	l.heed(now)
	if l.wait(now, full) > 0 {
		return false
	}
	l.read, l.before = now, l.news
	if l.looking, l.fresh = l.fresh, false; !l.looking {
		l.hinted = false
	}
	return true
}

// wait gives the time until the next reading.
func (l *Lanes) wait(now time.Time, full bool) time.Duration {
	since := now.Sub(l.read)
	if l.read.IsZero() || since < 0 {
		return 0
	}
	least := breather * time.Duration(min(len(l.stocked), Page))
	switch {
	case l.fresh:
		least = freshly
	case !l.hinted:
		least = max(least, Poll)
	case full:
		least = max(least, breath)
	}
	return max(0, least-since)
}

// Wait gives the time until a claim has something to look for: a reading, a task that was delayed here and comes due, or a lane
// that a hint named. now is the process's own time, at is the store's.
func (l *Lanes) Wait(now time.Time, at machine.Time, full bool) time.Duration {
	wait := l.wait(now, full)
	if full { // a slot that is freed is a signal
		return wait
	}
	if len(l.dues) > 0 {
		wait = min(wait, time.Duration(l.dues[0]-at)*time.Microsecond)
	}
	for _, due := range l.told {
		wait = min(wait, due.Sub(now))
	}
	return wait
}

// After is where the next page of a reading begins.
func (l *Lanes) After() int64 {
	if l.looking {
		return l.top
	}
	return l.cursor
}

// Took takes in the page that a reading gave. What it does not list of its range has no work. When it is full, there is
// another to be read.
func (l *Lanes) Took(page []store.Lane) {
	more := len(page) >= Page
	last := int64(math.MaxInt64)
	if more {
		last = page[len(page)-1].ID
	}
	l.list(page, l.After(), last)
	if l.looking {
		l.looking = false
		l.hinted = l.hinted || more || l.named[l.awaited] == nil // it is an old one, or behind the page
		return
	}
	if l.cursor = last; !more {
		l.cursor = 0
	}
	l.hinted = l.hinted || more
}

// list takes in which lanes of a range hold work.
func (l *Lanes) list(page []store.Lane, after, last int64) {
	listed := make(map[int64]bool, len(page))
	for _, x := range page {
		listed[x.ID] = !x.Paused
		l.top = max(l.top, x.ID)
	}
	for id, x := range l.stocked {
		if id > after && id <= last && !listed[id] && x.news <= l.before {
			l.leave(x)
		}
	}
	for _, x := range page {
		if listed[x.ID] && l.serves(x.Handler) {
			l.enter(l.lane(x))
		}
	}
}

// Expect says that a task became ready in a lane that has such names. One that is not known yet is looked for among those that
// are new, and then everywhere.
func (l *Lanes) Expect(x store.Lane) {
	if n := l.named[x]; n != nil {
		l.enter(n)
		return
	}
	l.awaited, l.fresh = x, true
}

// Emptied forgets the lanes that gave less than they were asked for, until a reading lists them. A claim that brought so much
// that it may have been cut short empties none. now is the process's own time.
func (l *Lanes) Emptied(asked store.Claim, got []store.Claimed, now time.Time) {
	by, size := make(map[int64]int, len(asked.Lanes)), 0
	for i := range got {
		by[got[i].Lane.ID]++
		for _, raw := range got[i].Payloads {
			size += len(raw)
		}
	}
	l.compare(asked.Lanes, by, now)
	if asked.Bytes > 0 && size >= asked.Bytes/2 {
		return
	}
	for _, x := range asked.Lanes {
		if n := l.stocked[x.Lane]; n != nil && by[x.Lane] < x.Limit && n.news <= n.asked {
			l.leave(n)
		}
	}
}

func (l *Lanes) lane(x store.Lane) *lane {
	if l.known[x.ID] == nil {
		n := &lane{Lane: x}
		n.turn = l.below(l.below(l.below(l.group(x.Queue), x.Tenant), x.Workflow), strconv.FormatInt(x.ID, 10))
		n.turn.lane = n
		l.known[x.ID] = n
		l.tenants[x.Tenant] = struct{}{}
		x.ID, x.Paused = 0, false
		l.named[x] = n
		return n
	}
	return l.known[x.ID]
}

func (l *Lanes) group(queue string) *node {
	if !l.limited(queue) {
		queue = ""
	}
	return l.below(l.all, queue)
}

func (l *Lanes) enter(x *lane) {
	l.news++
	x.news, x.rumour = l.news, false
	if l.stocked[x.ID] == nil {
		l.stocked[x.ID] = x
		l.queues[x.Queue]++
		x.turn.enter()
	}
}

func (l *Lanes) leave(x *lane) {
	x.rumour = false
	delete(l.stocked, x.ID)
	l.queues[x.Queue]--
	x.turn.leave()
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

// Stocked says whether any lane may have work.
func (l *Lanes) Stocked() bool { return len(l.stocked) > 0 }

// Waiting says whether a lane of the queue may have work.
func (l *Lanes) Waiting(queue string) bool { return l.queues[queue] > 0 }

// Waits says whether a task of a tenant that becomes ready in a queue now has others before it: not if the tenant is a guest, and
// no other guest waits.
func (l *Lanes) Waits(queue, tenant string) bool {
	if !l.Waiting(queue) {
		return false
	}
	n := l.group(queue).children[tenant]
	return l.running[tenant] > 0 || n != nil && n.place >= 0 || l.Starves(queue)
}

// Begin says that an attempt of a tenant begins here.
func (l *Lanes) Begin(tenant string) { l.running[tenant]++ }

// End says that an attempt of a tenant has left its slot.
func (l *Lanes) End(tenant string) {
	if l.running[tenant]--; l.running[tenant] == 0 {
		delete(l.running, tenant)
	}
}

// Starves says whether the tenant whose turn it is for a slot of the queue has none at all here.
func (l *Lanes) Starves(queue string) bool {
	line := l.group(queue).turns
	return len(line) > 0 && l.running[line[0].name] == 0
}

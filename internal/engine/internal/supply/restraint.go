package supply

import (
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/store"
)

// restraint says when a process follows a hint that all others heard too, of whom one is enough. The first is followed at once,
// and so is each one after a claim for a hint that found something. A claim that found nothing, since others were faster, puts
// the next one off, the longer the more of them there were. So where much is hinted and little is there, those who found
// something answer at once, and the others look now and then whether something is left.
type restraint struct {
	vain int       // claims for hints alone that found nothing, less those that found something
	rest time.Time // no claim is made for hints alone before
}

const (
	firstRest   = 10 * time.Millisecond // after a claim in vain, and half of that at least; each further one doubles it
	longestRest = 80 * time.Millisecond
	mostVain    = 4                    // claims that count
	deference   = time.Millisecond / 2 // to those who have less in hand, for each attempt of the tenant here
	deferential = 8                    // attempts that count
)

// follow gives when a process with so many attempts of the tenant in hand follows a hint that comes now.
func (r *restraint) follow(now time.Time, inHand int) time.Time {
	at := now.Add(deference * time.Duration(min(inHand, deferential)))
	if at.Before(r.rest) {
		return r.rest
	}
	return at
}

// learn takes in whether a claim for hints alone found something; chance, from 0 to 1, keeps processes apart.
func (r *restraint) learn(found bool, now time.Time, chance float64) {
	if found {
		r.vain, r.rest = max(0, r.vain-1), time.Time{}
		return
	}
	half := min(firstRest<<r.vain, longestRest) / 2
	r.vain = min(r.vain+1, mostVain)
	r.rest = now.Add(half + time.Duration(chance*float64(half)))
}

// Told says that a hint names a lane, in which tasks became ready. It is asked at once or in a while; while there is no free
// slot, it is known to have work at once. Told gives whether a claim is due, or due earlier than Wait said.
func (l *Lanes) Told(x store.Lane, now time.Time, full bool) bool {
	n := l.named[x]
	at := l.restraint.follow(now, l.running[x.Tenant])
	if !at.After(now) || full || n != nil && l.stocked[n.ID] != nil {
		delete(l.told, x)
		l.trust(x)
		return true
	}
	_, waits := l.told[x]
	if !waits {
		l.told[x] = at
	}
	return !waits
}

// trust takes what a hint said for true.
func (l *Lanes) trust(x store.Lane) {
	n := l.named[x]
	rumour := n != nil && (n.rumour || l.stocked[n.ID] == nil)
	if l.Expect(x); n != nil {
		n.rumour = rumour
	}
}

// heed trusts the hints whose time has come.
func (l *Lanes) heed(now time.Time) {
	for x, at := range l.told {
		if !now.Before(at) {
			delete(l.told, x)
			l.trust(x)
		}
	}
}

// compare learns what the hints were worth that a claim was made for; by is what it brought, by lane.
func (l *Lanes) compare(asked []store.LaneLimit, by map[int64]int, now time.Time) {
	rumours, found := 0, false
	for _, x := range asked {
		if n := l.known[x.Lane]; n != nil && n.rumour {
			rumours++
			n.rumour = by[x.Lane] == 0
			found = found || !n.rumour
		}
	}
	if found || rumours > 0 && rumours == len(asked) {
		l.restraint.learn(found, now, rand.Float64()) //nolint:gosec // it keeps processes apart
	}
}

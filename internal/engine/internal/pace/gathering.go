// Package pace says when a transaction that would carry little waits for more. Each costs about the same however little is in
// it, a millisecond of processors here and at the server, and a server that many processes share has that much less for the others.
//
// Nouns: [Gathering] is what settlers wait for; a [Wave] is attempts that began at about the same time, and may so end at about
// the same time. What is there waits no longer than a settlement took the last time: a server that has nothing else to do is
// asked soon, and one that is slow is asked for more at a time. It is pure: the engine says what time it is. Nothing here is safe
// for concurrent use: the engine's mutex guards it.
package pace

import "time"

// Gathering decides whether a settler takes what is there, or leaves it while more comes. What this process has in hand is what
// is there, what is being settled and comes back with its next tasks, and the attempts that began a moment ago. While tasks wait
// for slots, what counts is how much is done, and a settler leaves what is there until all of that is; else, how soon it is done, and
// a settler's share is enough. An outcome that is alone is all there is, and goes at once; so does one of an attempt that took
// longer than a settlement, as long as no other settlement is in flight. The zero value with Full and Settlers set is ready for use.
type Gathering struct {
	Full     int // runs that a settlement takes at most: so many wait for nothing
	Settlers int // among whom it is shared out

	took  time.Duration // by a settlement
	until time.Time     // what is there goes then in any case; zero: nothing has begun to wait
	waves []*Wave       // that are not over, oldest first
}

// Wave is attempts that began at about the same time.
type Wave struct {
	at   time.Time
	left int
}

const (
	longest = 50 * time.Millisecond // that anything waits
	ripple  = 8                     // waves that fit into the time that a settlement takes
)

// Begun says that an attempt begins, and gives its wave.
func (g *Gathering) Begun(now time.Time) *Wave {
	if n := len(g.waves); n > 0 && now.Sub(g.waves[n-1].at) <= g.took/ripple {
		g.waves[n-1].left++
		return g.waves[n-1]
	}
	w := &Wave{at: now, left: 1}
	g.waves = append(g.waves, w)
	g.forget(now)
	return w
}

// Ended says that an attempt of the wave has an outcome, or is given up.
func (w *Wave) Ended() { w.left-- }

// forget drops the waves from which nothing is expected any more.
func (g *Gathering) forget(now time.Time) {
	for len(g.waves) > 0 && (g.waves[0].left <= 0 || now.Sub(g.waves[0].at) >= g.took) {
		g.waves = g.waves[1:]
	}
}

// Wait gives for how long a settler leaves what is there, outcomes of so many runs, while so many are being settled, before it
// looks again. 0: it takes them now. busy says that tasks wait for slots.
func (g *Gathering) Wait(now time.Time, runs, aboard int, busy bool) time.Duration {
	if runs == 0 || runs >= g.Full {
		return 0
	}
	if g.until.IsZero() {
		g.until = now.Add(g.took)
	}
	left := g.until.Sub(now)
	if left <= 0 {
		return 0
	}
	g.forget(now)
	fresh := 0
	for _, w := range g.waves {
		if w.left > 0 {
			fresh += w.left
			left = min(left, w.at.Add(g.took).Sub(now))
		}
	}
	shares := g.Settlers
	if busy {
		shares = 1
	}
	if runs*shares >= runs+aboard+fresh {
		return 0
	}
	return left
}

// Heed is Wait for whoever adds to what is there: it says whether a settler is to look, because the wait is over or begins.
func (g *Gathering) Heed(now time.Time, runs, aboard int, busy bool) bool {
	begins := g.until.IsZero()
	return g.Wait(now, runs, aboard, busy) == 0 || begins
}

// Taken says that a settler has taken what was there.
func (g *Gathering) Taken() { g.until = time.Time{} }

// Took says how long a settlement took. A shorter one than before counts half: it may have carried little.
func (g *Gathering) Took(d time.Duration) { g.took = min(max(d, g.took/2), longest) }

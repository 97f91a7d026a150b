package plan

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// save makes a step in the middle of the root a savepoint, and has the last one fail, in some plans. It draws from the plan
// itself, so that what is drawn after it stays as it was.
func (p *Plan) save() {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Text()))                        // a hash never fails
	d := &drawer{Rand: rand.New(rand.NewPCG(h.Sum64(), 1))} //nolint:gosec // drawn by the seed
	n := len(p.Root.Steps)
	if !p.Sagas() || n < 3 || p.Root.Kind == Single || !d.one(3) {
		return
	}
	at, last := 1+d.IntN(n-2), p.Root.Steps[n-1]
	s := p.Root.Steps[at]
	if !p.Root.plain(at) || !p.Root.plain(n-1) || s.Next >= 0 || p.Root.Kind == Graph && len(s.After) == 0 {
		return
	}
	*s = Step{Key: s.Key, Next: -1, Tolerate: -1, Action: "savepoint", After: s.After}
	last.Doomed, last.OnError, last.Guard = true, "", Always
	if p.Root.Kind == Graph && !slices.Contains(last.After, at) {
		last.After = append(last.After, at)
	}
}

// plain says whether a step is a task that nothing jumps to or from.
func (b *Body) plain(at int) bool {
	s := b.Steps[at]
	if s.Action != "task" || s.Code != "" || len(s.Catches) > 0 || s.Join != "" {
		return false
	}
	for i := range b.Steps {
		if kind := b.Edge(i, at); kind == Chosen || kind == Caught {
			return false
		}
	}
	return true
}

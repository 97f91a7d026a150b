package machine

import (
	"maps"
	"slices"
	"strings"
)

// past is what a replay remembers of a run beyond its state: what a retry of the run goes back to. Documents of scopes that
// have ended are deleted, and so are outputs that nobody reads any more; the journal still has them.
type past struct {
	scopes map[string]*Scope // documents that were dropped, as they were last
	root   *Scope            // the root's document when the run ended
	log    []Done            // the undo log when the run ended
	safe   int               // records before were protected by a savepoint
	ins    map[string]arrival
	outs   map[string]Data   // outputs by activation, without its try
	gave   map[string]Data   // outputs of scopes
	tries  map[string]string // the last try of a composite by activation
	undone map[string]bool   // what was undone, and all around it
	hands  map[string]Live   // compensations that were started, by path: the number of the attempt that may have begun, and the input
}

// arrival is what an activation got.
type arrival struct{ in, caught Data }

func newPast() *past {
	return &past{
		scopes: map[string]*Scope{}, ins: map[string]arrival{}, outs: map[string]Data{}, gave: map[string]Data{},
		tries: map[string]string{}, undone: map[string]bool{}, hands: map[string]Live{},
	}
}

// ended remembers how the run stood when it ended.
func (p *past) ended(t *turn) {
	if p == nil {
		return
	}
	p.root = t.run.Root.clone()
	p.log, p.safe = nil, 0
	if d := t.run.Root.Run.Undo; d != nil {
		p.safe = d.Safe
	}
	for n := range t.logged() {
		r := *t.record(n)
		p.log = append(p.log, r)
		if r.Fate == Undone || r.Fate == PassedOver {
			p.touch(r.Path)
		}
	}
}

// touch remembers that an activation was undone, and so was something in all that is around it.
func (p *past) touch(path string) {
	p.undone[path] = true
	for i := range len(path) {
		if strings.IndexByte("/[~", path[i]) >= 0 {
			p.undone[path[:i]] = true
		}
	}
}

func (p *past) dropped(path string, sc *Scope) {
	if p != nil && sc != nil {
		p.scopes[path] = sc
	}
}

func (p *past) got(base string, a arrival) {
	if p != nil {
		p.ins[base] = a
	}
}

func (p *past) handedOn(base string, out Data) {
	if p != nil {
		p.outs[base] = out
	}
}

func (p *past) undoing(path string, l *Live) {
	if p != nil {
		p.hands[path] = Live{Attempt: l.Attempt + 1, Redriven: l.Redriven}
	}
}

func (p *past) scopeGave(path string, out Data) {
	if p != nil {
		p.gave[path] = out
	}
}

func (p *past) tried(base, path string) {
	if p != nil {
		p.tries[base] = path
	}
}

// bury takes the documents that the store deletes when a run ends.
func (p *past) bury(run *Run) *Run {
	c := *run
	c.Scopes = nil
	for _, path := range slices.Sorted(maps.Keys(run.Scopes)) {
		p.dropped(path, run.Scopes[path])
	}
	return &c
}

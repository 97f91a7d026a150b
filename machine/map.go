package machine

import (
	"github.com/millrace-go/millrace/expr"
	"github.com/millrace-go/millrace/workflow"
)

func (t *turn) beginMap(p *place, s *workflow.Step, a *workflow.Map) {
	live := t.scope(p).Live[s.Index]
	box := live.Box
	ap := t.path(p, s)
	items, err := a.Over.List(t.env(view{at: p, step: s, prev: live.In}, &s.ActionUses), expr.Budget{Bytes: MaxAssembled})
	if err != nil {
		t.failStep(p, s, expressionError(err))
		return
	}
	if box.N = len(items); box.N+t.run.Root.Run.Activations > MaxActivations {
		t.failStep(p, s, &Error{Code: CodeStepLimit, Final: true, Message: "the items would exceed 100,000 activations"})
		return
	}
	if t.outOfReach(p, s, box) {
		return
	}
	for i, raw := range items {
		t.put(ap, i, raw)
	}
	t.keepItems(p, s, a, ap, box)
	t.moreItems(p, s, a)
}

// moreItems opens items while there is room, and ends the map when all have ended.
func (t *turn) moreItems(p *place, s *workflow.Step, a *workflow.Map) {
	sc := t.scope(p)
	box := sc.Live[s.Index].Box
	if box.Stop != nil {
		t.checkBox(p, s)
		return
	}
	if box.Need > 0 && box.Good >= box.Need && s.CancelRest {
		if box.Open == 0 {
			t.finishComposite(p, s, t.results(p, s))
			return
		}
		t.stopBox(p, s, &Closing{Reason: Enough})
		return
	}
	room := MaxOpenItems
	if a.Parallel > 0 {
		room = min(room, a.Parallel)
	}
	ap := t.path(p, s)
	for box.Next < box.N && box.Open < room && box.Stop == nil {
		t.openItem(p, s, a, ap, box)
	}
	if box.Open == 0 && box.Next == box.N && box.Stop == nil {
		t.finishComposite(p, s, t.results(p, s))
	}
}

func (t *turn) openItem(p *place, s *workflow.Step, a *workflow.Map, ap string, box *Box) {
	i := box.Next
	q := p.indexed(s, ap, a.Body, i)
	box.Next++
	c := t.chunk(ap, i, box.N)
	if c.States[i%ChunkSize] != StepPending { // kept by a retry
		return
	}
	if !q.isItemTask() {
		t.openItemAs(q, ap, i, box)
		return
	}
	box.Open++
	c.States[i%ChunkSize] = StepReady
	t.run.Root.Run.Activations++
	var live *Live
	if hasFor(q.body.Steps[0]) {
		live = &Live{Since: t.run.At.Add(q.body.Steps[0].Delay)}
		set(&c.Live, i%ChunkSize, live)
	}
	t.startItem(q, live, 0)
}

// openItemAs opens the scope of item i.
func (t *turn) openItemAs(q *place, ap string, i int, box *Box) {
	t.chunk(ap, i, box.N).States[i%ChunkSize] = StepOpen
	box.Open++
	item := &ItemEnv{Value: valueData(ap, i), Index: i}
	t.openScope(q, &Scope{In: item.Value, Item: item})
}

// reach is the index behind the last item that may have begun.
func (b *Box) reach() int {
	if b.Kept {
		return b.N
	}
	return b.Next
}

// keepResult records what an item with a body of its own gave.
func (t *turn) keepResult(q *place, box *Box, out Data) {
	c := t.chunk(q.ownerPath, q.slot, box.N)
	c.States[q.slot%ChunkSize] = StepSucceeded
	c.Out[q.slot%ChunkSize] = out
}

// item is the state of one item whose body is one task.
type item struct {
	q     *place
	a     *workflow.Map
	box   *Box
	chunk *Chunk
	i     int // index in the chunk
}

// openItemAt finds an item that is under way; ok is false when an event comes too late for it.
func (t *turn) openItemAt(q *place) (item, bool) {
	if q.up.isItemTask() || t.peek(q.up) == nil {
		return item{}, false
	}
	live := t.scope(q.up).Live[q.owner.Index]
	if live == nil || live.Box == nil || live.Box.Catch > 0 || t.path(q.up, q.owner) != q.ownerPath || q.slot >= live.Box.reach() {
		return item{}, false
	}
	return item{
		q: q, a: q.owner.Action.(*workflow.Map), box: live.Box,
		chunk: t.chunk(q.ownerPath, q.slot, live.Box.N), i: q.slot % ChunkSize,
	}, true
}

func (t *turn) itemSucceeded(q *place, attempt int) bool {
	it, ok := t.openItemAt(q)
	if !ok || !it.current(attempt) {
		return false
	}
	it.chunk.States[it.i] = StepSucceeded
	it.chunk.Out[it.i] = t.output()
	it.box.Good++
	t.itemOver(it)
	return true
}

// current says whether an outcome is of the attempt that is expected.
func (it *item) current(attempt int) bool {
	if s := it.chunk.States[it.i]; s != StepReady && s != StepStopping {
		return false
	}
	l := it.chunk.Live[it.i]
	return l == nil || attempt > l.Attempt
}

func (t *turn) itemOver(it item) {
	delete(it.chunk.Live, it.i)
	it.box.Open--
	t.moreItems(it.q.up, it.q.owner, it.a)
}

// itemCancelled ends an item that was told to stop.
func (t *turn) itemCancelled(it item) {
	it.chunk.States[it.i] = StepCancelled
	t.itemOver(it)
}

// remember notes that an attempt was settled and that the item goes on.
func (it *item) remember(attempt int) *Live {
	live := it.chunk.Live[it.i]
	if live == nil {
		live = &Live{}
		set(&it.chunk.Live, it.i, live)
	}
	live.Attempt = attempt
	return live
}

func (t *turn) itemFailed(q *place, attempt int, e *Error) bool {
	it, ok := t.openItemAt(q)
	if !ok || !it.current(attempt) {
		return false
	}
	if it.chunk.States[it.i] == StepStopping {
		t.itemCancelled(it)
		return true
	}
	live := it.remember(attempt)
	e.Step = q.path
	if due, again := t.retry(q.body.Steps[0], live, q.path, e); again {
		t.startItem(q, live, due)
		return true
	}
	if t.parksItem(q, it.box, e) {
		t.parkItem(it, live, e)
		return true
	}
	t.itemFailedForGood(it, e)
	return true
}

func (t *turn) itemFailedForGood(it item, e *Error) {
	q := it.q
	it.chunk.States[it.i] = StepFailed
	set(&it.chunk.Err, it.i, t.errorData(q.path, e))
	it.box.Bad++
	if all := unbearable(q.owner, it.box, e); all != nil {
		delete(it.chunk.Live, it.i)
		it.box.Open--
		t.stopBox(q.up, q.owner, &Closing{Reason: ByFailure, Err: all})
		return
	}
	t.itemOver(it)
}

func (t *turn) itemReleased(q *place, attempt int) bool {
	it, ok := t.openItemAt(q)
	if !ok || !it.current(attempt) {
		return false
	}
	if it.chunk.States[it.i] == StepStopping {
		t.itemCancelled(it)
		return true
	}
	live := it.remember(attempt)
	t.startItem(q, live, 0)
	return true
}

func (t *turn) itemStopped(q *place) bool {
	it, ok := t.openItemAt(q)
	if !ok || it.chunk.States[it.i] != StepStopping {
		return false
	}
	t.itemCancelled(it)
	return true
}

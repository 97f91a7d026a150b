package lease

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/store"
)

// Recorder is a store that writes down what concerns leases before it is asked, and what was answered. It is as safe for
// concurrent use as the store underneath. A call that cannot be written down is not made.
type Recorder struct {
	store.Store
	log *log
}

// NewRecorder gives a recorder before st for the process owner, with a file of its own in folder. The file is left open until
// the process ends.
func NewRecorder(st store.Store, folder, owner string) (*Recorder, error) {
	l, err := newLog(folder, owner)
	if err != nil {
		return nil, err
	}
	return &Recorder{Store: st, log: l}, nil
}

// Start is that of the store underneath.
func (r *Recorder) Start(ctx context.Context, starts []store.Start) ([]store.Started, error) {
	call := line{Kind: Start}
	for i := range starts {
		call.Items = append(call.Items, settlementItem(&starts[i].Settlement))
	}
	id, err := r.log.call(call)
	if err != nil {
		return nil, err
	}
	out, err := r.Store.Start(ctx, starts)
	items := make([]item, len(out))
	for i := range out {
		s := &out[i]
		items[i] = item{Run: s.RunID, Made: s.Created, Tasks: tasksOf(s.Handed)}
		if s.Err != nil {
			items[i].Error = s.Err.Error()
		}
	}
	return out, r.log.answer(id, items, err)
}

// Settle is that of the store underneath.
func (r *Recorder) Settle(ctx context.Context, settlements []store.Settlement) ([]store.Settled, error) {
	call := line{Kind: Settle}
	for i := range settlements {
		call.Items = append(call.Items, settlementItem(&settlements[i]))
	}
	id, err := r.log.call(call)
	if err != nil {
		return nil, err
	}
	out, err := r.Store.Settle(ctx, settlements)
	items := make([]item, len(out))
	for i := range out {
		items[i] = item{Result: out[i].Result, Tasks: tasksOf(out[i].Handed)}
	}
	return out, r.log.answer(id, items, err)
}

// Claim is that of the store underneath.
func (r *Recorder) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	id, err := r.log.call(line{Kind: Claim, Token: c.Token})
	if err != nil {
		return nil, err
	}
	out, err := r.Store.Claim(ctx, c)
	return out, r.log.answer(id, claimedItems(out), err)
}

// HeldBy is that of the store underneath.
func (r *Recorder) HeldBy(ctx context.Context, owner string, token int64) ([]store.Claimed, error) {
	id, err := r.log.call(line{Kind: Hold, Token: token})
	if err != nil {
		return nil, err
	}
	out, err := r.Store.HeldBy(ctx, owner, token)
	return out, r.log.answer(id, claimedItems(out), err)
}

// Renew is that of the store underneath. What only asks, and hears nothing new, is not written down.
func (r *Recorder) Renew(ctx context.Context, held []store.Held, lease time.Duration) ([]store.Renewed, error) {
	asked := now()
	out, err := r.Store.Renew(ctx, held, lease)
	if err != nil {
		return out, err
	}
	var items []item
	for i := range out {
		if h := &out[i]; h.Lost || lease > 0 {
			items = append(items, item{Run: h.RunID, Path: h.Path, Token: h.Token, Lost: h.Lost})
		}
	}
	if len(items) == 0 {
		return out, nil
	}
	id, err := r.log.call(line{Kind: Renew, Token: asked}) // a question that changes nothing needs no line before its answer
	if err != nil {
		return nil, err
	}
	return out, r.log.answer(id, items, nil)
}

func tasksOf(handed []store.Claimed) map[string]int {
	if len(handed) == 0 {
		return nil
	}
	out := make(map[string]int, len(handed))
	for i := range handed {
		out[handed[i].Path] = handed[i].Attempt
	}
	return out
}

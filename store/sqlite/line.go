package sqlite

import (
	"context"
	"slices"
	"sync"
)

// line is where calls that write wait for the writing connection. Whoever gets it carries out all that stand in the line, in
// order and in one transaction: what arrives while one commit is in flight shares the next.
type line struct {
	mu      sync.Mutex
	waiting []*order
}

// order is one call that writes.
type order struct {
	ctx  context.Context //nolint:containedctx // that of the call that waits
	do   func(c *conn) error
	err  error         // what became of it
	done chan struct{} // closed once err is set
}

func (o *order) end(err error) {
	o.err = err
	close(o.done)
}

func (l *line) join(o *order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, o)
}

// leave takes o out of the line; false if somebody has taken it to carry it out.
func (l *line) leave(o *order) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, o)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

func (l *line) takeAll() []*order {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.waiting
	l.waiting = nil
	return all
}

// write runs do in a transaction that holds the write lock, and commits it unless do fails. do may be run twice, the first
// time in vain: it shares its transaction with the calls of this process that wait at the same time, and when one of them
// fails, all is undone and each is carried out alone. Processes take turns.
func (s *Store) write(ctx context.Context, op string, do func(c *conn) error) error {
	call, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	defer cancel()
	o := &order{ctx: call, do: do, done: make(chan struct{})}
	s.line.join(o)
	var left error
	select {
	case <-o.done:
	case c := <-s.writer:
		s.lead(c, o)
	case <-s.closing:
		left = errClosed
	case <-call.Done():
		left = call.Err()
	}
	if left != nil && s.line.leave(o) {
		return s.fault(ctx, op, left)
	}
	<-o.done
	return s.fault(ctx, op, o.err)
}

// lead carries out o and all that wait with it, and gives the writer back. Where no transaction can be begun, o alone has
// failed: the others try themselves.
func (s *Store) lead(c *conn, o *order) {
	select {
	case <-o.done: // somebody else was faster
		s.writer <- c
		return
	default:
	}
	if err := s.begin(o.ctx, c); err != nil {
		s.line.leave(o)
		o.end(err)
		s.writer <- c
		return
	}
	s.together(c, s.line.takeAll())
	written := c.Written
	s.writer <- c
	s.log.note(o.ctx, written)
}

// together carries out orders in the transaction that has begun, or each in one of its own if one of them fails.
func (s *Store) together(c *conn, orders []*order) {
	failed, err := s.transact(c, orders)
	if !failed || len(orders) == 1 {
		for _, o := range orders {
			o.end(err)
		}
		return
	}
	for _, o := range orders {
		err := s.begin(o.ctx, c)
		if err == nil {
			_, err = s.transact(c, []*order{o})
		}
		o.end(err)
	}
}

// transact runs orders in the transaction that has begun, and commits it; or undoes it when one of them has failed.
func (s *Store) transact(c *conn, orders []*order) (failed bool, err error) {
	committed := false
	defer func() {
		if !committed {
			c.Rollback()
			s.lanes.forget()
		}
	}()
	s.lanes.stale = true
	for _, o := range orders {
		if err := c.Interruptible(o.ctx, o.do); err != nil {
			return true, err
		}
	}
	if err := c.Do("commit"); err != nil { // once begun it is carried through, whatever becomes of the callers
		return false, err
	}
	committed = true
	return false, nil
}

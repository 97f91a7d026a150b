package sqlite

import (
	"context"
	"slices"
	"sync"
)

// line is where calls that write wait for the writing connection. Whoever gets it carries out all that stand in the line, in
// order and in one transaction: what arrives while one commit is in flight shares the next. But what asks for little and stands
// behind what asks for much goes before it, every other time: a lone task waits for no batch but the one that is in flight.
type line struct {
	mu      sync.Mutex
	waiting []*order
	passed  bool // the last transaction was one of those that ask for little
}

const (
	little = 4  // members of a call that asks for little
	much   = 16 // members of all that would be done with it, from which on it is worth a commit of its own
)

// order is one call that writes.
type order struct {
	ctx  context.Context //nolint:containedctx // that of the call that waits
	do   func(c *conn) error
	size int           // members
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

// next takes those that share the next transaction.
func (l *line) next() []*order {
	l.mu.Lock()
	defer l.mu.Unlock()
	var few, rest []*order
	heavy := 0
	for _, o := range l.waiting {
		if o.size <= little {
			few = append(few, o)
			continue
		}
		rest = append(rest, o)
		heavy += o.size
	}
	if l.passed = !l.passed && len(few) > 0 && heavy >= much; l.passed {
		l.waiting = rest
		return few
	}
	all := l.waiting
	l.waiting = nil
	return all
}

// write runs do in a transaction that holds the write lock, and commits it unless do fails. do may be run twice, the first
// time in vain: it shares its transaction with the calls of this process that wait at the same time, and when one of them
// fails, all is undone and each is carried out alone. Processes take turns.
func (s *Store) write(ctx context.Context, op string, do func(c *conn) error) error {
	return s.writeMany(ctx, op, 1, do)
}

// writeMany is write for a call with so many members.
func (s *Store) writeMany(ctx context.Context, op string, size int, do func(c *conn) error) error {
	call, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	defer cancel()
	o := &order{ctx: call, do: do, size: size, done: make(chan struct{})}
	s.line.join(o)
	for {
		var left error
		select {
		case <-o.done:
			return s.fault(ctx, op, o.err)
		case c := <-s.writer:
			s.lead(c, o)
		case <-s.closing:
			left = errClosed
		case <-call.Done():
			left = call.Err()
		}
		switch {
		case left == nil:
		case s.line.leave(o):
			return s.fault(ctx, op, left)
		default: // it is being carried out
			<-o.done
		}
	}
}

// lead carries out those whose turn it is, and gives the writer back. Where no transaction can be begun, o alone has failed: the
// others try themselves.
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
	s.together(c, s.line.next())
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

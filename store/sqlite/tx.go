package sqlite

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/store"
)

// begin takes the write lock. The turn is held while asking for it only: a process that has just written and comes again
// finds the turn taken by one that waits.
func (s *Store) begin(ctx context.Context, c *conn) error {
	select {
	case <-s.closing:
		return errClosed
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.BusyTimeout)
	defer cancel()
	if err := s.turn.Take(ctx); err != nil {
		if ctx.Err() == nil {
			return err
		}
		return &store.StoreError{
			Op: "write", Kind: store.ErrUnavailable, Err: err,
			Hint: "other processes wait for the database too: another program may keep it locked (`fuser -v` names it)",
		}
	}
	defer s.turn.Give()
	return patient(ctx, func() error { return c.Do("begin immediate") })
}

// patient repeats what fails because the database is busy, until ctx ends; then it gives the last failure.
func patient(ctx context.Context, try func() error) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := try()
		if err == nil || !busy(err) {
			return err
		}
		if !pause(ctx, wait) {
			return err
		}
	}
}

// pause waits, and says whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// read runs look on one snapshot, which ends with the call.
func (s *Store) read(ctx context.Context, op string, look func(c *conn) error) error {
	call, cancel := context.WithTimeout(ctx, s.o.CallTimeout)
	defer cancel()
	var c *conn
	select {
	case c = <-s.readers:
	case <-s.closing:
		return s.fault(ctx, op, errClosed)
	case <-call.Done():
		return s.fault(ctx, op, call.Err())
	}
	defer func() { s.readers <- c }()
	err := s.glance(call, &c, look)
	return s.fault(ctx, op, err)
}

func (s *Store) glance(ctx context.Context, held **conn, look func(c *conn) error) error {
	select {
	case <-s.closing:
		return errClosed
	default:
	}
	if *held == nil {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		*held = c
	}
	c := *held
	defer c.Rollback()
	if err := s.snapshot(ctx, c); err != nil {
		return err
	}
	return c.Interruptible(ctx, look)
}

// snapshot begins a reading transaction. The first read fixes what it sees and is the only one that can find the database
// busy (while another process opens or closes it).
func (s *Store) snapshot(ctx context.Context, c *conn) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.BusyTimeout)
	defer cancel()
	return patient(ctx, func() error {
		if err := c.Do("begin"); err != nil {
			return err
		}
		_, err := c.One("select value from meta where name = 'lanes'", func(*row) error { return nil })
		if err != nil {
			c.Rollback()
		}
		return err
	})
}

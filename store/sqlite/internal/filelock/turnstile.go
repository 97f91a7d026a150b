package filelock

import (
	"context"
	"os"
	"time"
)

// Turnstile lets one process at a time ask for SQLite's write lock. SQLite's own lock goes to whoever asks at the right
// microsecond, which is nearly always the process that has just let it go; whoever waits at the turnstile is next instead.
type Turnstile struct{ file *os.File }

// NewTurnstile gives the turnstile whose file is at path, made if need be. Close it.
func NewTurnstile(path string) (*Turnstile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Turnstile{f}, nil
}

// Take waits for the turn until ctx ends; the error is then that of ctx.
func (t *Turnstile) Take(ctx context.Context) error {
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		ok, err := lockFile(t.file, false)
		if ok || err != nil {
			return err
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// Free says whether nobody stands at the turnstile, without taking the turn.
func (t *Turnstile) Free() (bool, error) {
	free, err := lockFile(t.file, true)
	if !free || err != nil {
		return false, err
	}
	return true, unlockFile(t.file)
}

// Give lets the next one through.
func (t *Turnstile) Give() { _ = unlockFile(t.file) } // closing the file gives it back in any case

// Close gives up the turn for good.
func (t *Turnstile) Close() error { return giveBack(t.file) }

// pause waits for d, and says whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

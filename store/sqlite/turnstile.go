package sqlite

import (
	"context"
	"os"
	"time"

	"github.com/millrace-go/millrace/store"
)

// turnstile lets one process at a time ask for SQLite's write lock. SQLite's own lock goes to whoever asks at the right
// microsecond, which is nearly always the process that has just let it go; whoever waits at the turnstile is next instead.
type turnstile struct{ file *os.File }

func newTurnstile(path string) (*turnstile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable("give yourself the right to write beside the database, or name another file", "%w", err)
	}
	return &turnstile{f}, nil
}

// take waits for the turn until ctx ends.
func (t *turnstile) take(ctx context.Context) error {
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		ok, err := lockFile(t.file, false)
		if ok || err != nil {
			return err
		}
		if !pause(ctx, wait) {
			return &store.StoreError{
				Op: "write", Kind: store.ErrUnavailable, Err: ctx.Err(),
				Hint: "other processes wait for the database too: another program may keep it locked (`fuser -v` names it)",
			}
		}
	}
}

func (t *turnstile) give() { _ = unlockFile(t.file) } // closing the file gives it back in any case

func (t *turnstile) close() error { return t.file.Close() }

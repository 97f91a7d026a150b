package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/store"
)

var errClosed = errors.New("the store is closed")

// busy says whether another connection's lock is all that is in the way.
func busy(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		return true
	default:
		return false
	}
}

// refused says whether the database refuses the content of one statement and is otherwise well.
func refused(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultConstraint, sqlite.ResultTooBig, sqlite.ResultMismatch:
		return true
	default:
		return false
	}
}

// fault gives err its kind and a hint. What is one of the store's own kinds already passes, and so does the end of ctx.
func (s *Store) fault(ctx context.Context, op string, err error) error {
	var done *store.StoreError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return err
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err) == sqlite.ResultInterrupt || busy(err)):
		return &store.StoreError{Op: op, Kind: store.ErrUnavailable, Hint: "ask what became of it and call again", Err: ctx.Err()}
	}
	if kind, hint := s.diagnose(err); kind != nil {
		return &store.StoreError{Op: op, Kind: kind, Hint: hint, Err: err}
	}
	return fmt.Errorf("%s: %w", op, err)
}

func (s *Store) diagnose(err error) (kind error, hint string) {
	code := sqlite.ErrCode(err)
	switch code.ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		return store.ErrUnavailable, fmt.Sprintf(
			"another program keeps %s locked: end it (`fuser -v %s` names it) and try again", s.path, s.path)
	case sqlite.ResultFull:
		return store.ErrUnavailable, fmt.Sprintf("the disk of %s is full: make room there and try again", s.path)
	case sqlite.ResultIOErr:
		return store.ErrUnavailable, fmt.Sprintf(
			"reading or writing %s failed: look for a full, removed or broken disk, then try again", s.path)
	case sqlite.ResultNotADB:
		return store.ErrUnusable, s.path + " is not a SQLite database: name another file, or move it away"
	case sqlite.ResultCorrupt:
		return store.ErrUnusable, s.path + " is damaged: move it away together with its -wal file and restore a copy"
	case sqlite.ResultCantOpen:
		return store.ErrUnusable, fmt.Sprintf(
			"give yourself the right to write to %s and to its folder %s, or name another file", s.path, filepath.Dir(s.path))
	case sqlite.ResultPerm, sqlite.ResultReadOnly, sqlite.ResultAuth:
		return store.ErrUnusable, fmt.Sprintf(
			"you may not write to %s: give yourself the right to it and to its folder, or name another file", s.path)
	case sqlite.ResultInterrupt:
		return store.ErrUnavailable, fmt.Sprintf("the call took longer than %v: is the disk overloaded?", s.o.CallTimeout)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return store.ErrUnavailable, fmt.Sprintf("the disk of %s is full: make room there and try again", s.path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return store.ErrUnusable, fmt.Sprintf("give yourself the right to write to %s-procs beside the database", s.path)
	}
	if errors.Is(err, errClosed) {
		return store.ErrUnusable, "open it again"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return store.ErrUnavailable, fmt.Sprintf("the call waited longer than %v for its turn", s.o.CallTimeout)
	}
	return nil, ""
}

// unusable is a fault that was found before SQLite was asked.
func unusable(hint, format string, args ...any) error {
	return &store.StoreError{Op: "open", Kind: store.ErrUnusable, Hint: hint, Err: fmt.Errorf(format, args...)}
}

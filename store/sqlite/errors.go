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
	case errors.As(err, &done), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict),
		errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrRefused):
		return err
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || sqlite.ErrCode(err) == sqlite.ResultInterrupt || busy(err)):
		return &store.StoreError{Op: op, Kind: store.ErrUnavailable, Hint: "look at what became of it, and try again", Err: ctx.Err()}
	}
	if hint, kind := s.diagnose(err); kind != nil {
		return &store.StoreError{Op: op, Kind: kind, Hint: hint, Err: err}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// diagnose gives the kind of a fault and what to do about it; nil for one of the program itself.
func (s *Store) diagnose(err error) (hint string, kind error) {
	full := fmt.Sprintf("the disk of %s is full: make room there and try again", s.path)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return full, store.ErrUnavailable
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("give yourself the right to write to %s-procs beside the database", s.path), store.ErrUnusable
	case errors.Is(err, errClosed):
		return "open it again", store.ErrUnusable
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the call waited longer than %v for its turn", s.o.CallTimeout), store.ErrUnavailable
	}
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // the others are faults of this program
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		return fmt.Sprintf("another program keeps %s locked: end it (`fuser -v %s` names it) and try again",
			s.path, s.path), store.ErrUnavailable
	case sqlite.ResultFull:
		return full, store.ErrUnavailable
	case sqlite.ResultIOErr:
		return fmt.Sprintf("reading or writing %s failed: look for a full, removed or broken disk, then try again",
			s.path), store.ErrUnavailable
	case sqlite.ResultInterrupt:
		return fmt.Sprintf("the call took longer than %v: is the disk overloaded?", s.o.CallTimeout), store.ErrUnavailable
	case sqlite.ResultNotADB:
		return s.path + " is not a SQLite database: name another file, or move it away", store.ErrUnusable
	case sqlite.ResultCorrupt:
		return s.path + " is damaged: move it away together with its -wal file and restore a copy", store.ErrUnusable
	case sqlite.ResultCantOpen:
		return fmt.Sprintf("give yourself the right to write to %s and to its folder %s, or name another file",
			s.path, filepath.Dir(s.path)), store.ErrUnusable
	case sqlite.ResultPerm, sqlite.ResultReadOnly, sqlite.ResultAuth:
		return fmt.Sprintf("you may not write to %s: give yourself the right to it and to its folder, or name another file",
			s.path), store.ErrUnusable
	}
	return "", nil
}

// unusable is a fault that was found before SQLite was asked.
func unusable(hint, format string, args ...any) error {
	return &store.StoreError{Op: "open", Kind: store.ErrUnusable, Hint: hint, Err: fmt.Errorf(format, args...)}
}

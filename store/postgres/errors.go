package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

var errClosed = errors.New("the store is closed")

// fault gives err its kind and a hint. What is one of the store's own kinds already passes.
func (s *Store) fault(ctx context.Context, op string, err error) error {
	var done *store.StoreError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict),
		errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrRefused), wire.Refused(err):
		return err
	case ctx.Err() != nil:
		return &store.StoreError{Op: op, Kind: store.ErrUnavailable, Hint: "look at what became of it, and try again", Err: ctx.Err()}
	}
	if hint, kind := s.diagnose(err); kind != nil {
		return &store.StoreError{Op: op, Kind: kind, Hint: hint, Err: cause(err)}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// diagnose gives the kind of a fault and what to do about it; nil for one of the program itself.
func (s *Store) diagnose(err error) (hint string, kind error) {
	if errors.Is(err, errClosed) || err.Error() == "closed pool" {
		return "open it again", store.ErrUnusable
	}
	if c := wire.Code(err); c != "" {
		return s.diagnoseCode(c)
	}
	if hint, kind := s.diagnoseConnect(err); kind != nil {
		return hint, kind
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the call took longer than %v: all connections (%d) are busy, or the server is overloaded or gone",
			s.o.Timeout, s.conns()), store.ErrUnavailable
	}
	// What is left comes from the network: the server says what it means with a code.
	return "the connection to " + s.place + " was lost: look at what became of it, and try again", store.ErrUnavailable
}

func (s *Store) conns() int32 {
	if s.pool == nil {
		return 0
	}
	return s.pool.Config().MaxConns
}

// migrateHint says how a schema comes into being.
const migrateHint = "run `millrace migrate` with this database once"

func (s *Store) diagnoseCode(c string) (hint string, kind error) {
	switch c {
	case wire.NoDatabase:
		return "make it first (createdb), or correct its name", store.ErrUnusable
	case wire.WrongPassword, wire.NoAuth:
		return "correct user and password of the URL (or PGPASSWORD, ~/.pgpass), or ask for the right to log in", store.ErrUnusable
	case wire.NoRight:
		return fmt.Sprintf("the role lacks a right to the schema %s: ask its owner to grant it, or have the owner run `millrace migrate`",
			s.o.Schema), store.ErrUnusable
	case wire.ReadOnly:
		return "this server is read-only, as a replica is: name the primary (target_session_attrs=read-write finds it)", store.ErrUnusable
	case wire.NoTable, wire.NoSchema, wire.NoFunction:
		return migrateHint, store.ErrUnusable
	case wire.DiskFull:
		return "the disk of the server is full: make room there and try again", store.ErrUnavailable
	case wire.ManyConns:
		return "the server has no connection left: raise max_connections, lower MaxConns, or put a pooler before it", store.ErrUnavailable
	case wire.Cancelled:
		return "the statement was cancelled, by a person or a limit of the server: try again", store.ErrUnavailable
	}
	switch {
	case strings.HasPrefix(c, "08"), strings.HasPrefix(c, "53"), strings.HasPrefix(c, "57"), strings.HasPrefix(c, "55"),
		strings.HasPrefix(c, "40"), strings.HasPrefix(c, "58"):
		return "the server at " + s.place + " cannot serve now: try again", store.ErrUnavailable
	}
	return "", nil
}

package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/store"
)

// Examine tells how the tables of the file at path stand, without changing them: Open brings them up. A file that is not
// there is empty. The error is one of Open's.
func Examine(ctx context.Context, path string) (store.Schema, error) {
	s := &Store{path: path, o: Options{}.withDefaults(), closing: make(chan struct{})}
	version, err := s.examine(ctx)
	if err != nil {
		return store.Schema{}, s.fault(ctx, "look at "+path, err)
	}
	out := store.Schema{Version: version, Newest: len(migrations())}
	for _, m := range migrations()[version:] {
		out.Missing = append(out.Missing, m.name)
	}
	return out, nil
}

func (s *Store) examine(ctx context.Context) (version int, err error) {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err := s.place(); err != nil {
		return 0, err
	}
	db, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite)
	if err != nil {
		return 0, err
	}
	db.SetBusyTimeout(0) // see patient
	c := &conn{DB: db}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, s.o.BusyTimeout)
	defer cancel()
	err = patient(ctx, func() error {
		if err := c.Do("begin"); err != nil {
			return err
		}
		defer c.Rollback()
		if _, err := s.recognise(c); err != nil {
			return err
		}
		_, version, err = identity(c)
		return err
	})
	return version, err
}

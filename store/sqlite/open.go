package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/filelock"
)

// applicationID marks a file as ours: "Mill".
const applicationID = 0x4d696c6c

func (s *Store) open(ctx context.Context) error {
	if err := s.place(); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, c); err != nil {
		return errors.Join(err, c.DB.Close())
	}
	if c, err = s.forgetStatistics(ctx, c); err != nil {
		return errors.Join(err, c.DB.Close(), s.turn.Close())
	}
	s.hints = newHints(s)
	s.log = newCheckpointer(ctx, s)
	for range readerCount {
		s.readers <- nil
	}
	s.writer <- c
	return nil
}

// place looks at the file's surroundings, where the words can be clearer than SQLite's. It does not open the file: closing
// it again would drop the locks of every other handle of this process.
func (s *Store) place() error {
	folder := filepath.Dir(s.path)
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return unusable("make the folder first: mkdir -p "+folder, "the folder %s does not exist", folder)
	case errors.Is(err, fs.ErrPermission):
		return unusable("give yourself the right to the folder, or name another file", "the folder %s may not be read", folder)
	case err == nil && !info.IsDir():
		return unusable("name a file in a folder", "%s is not a folder", folder)
	}
	switch info, err := os.Stat(s.path); {
	case err == nil && info.IsDir():
		return unusable("name a file inside it", "%s is a folder", s.path)
	case err == nil && !info.Mode().IsRegular():
		return unusable("name another file", "%s is not a plain file", s.path)
	}
	return nil
}

// prepare checks that the file is ours and brings it up to date.
func (s *Store) prepare(ctx context.Context, c *conn) error {
	procs := s.path + "-procs"
	if err := os.MkdirAll(procs, 0o750); err != nil {
		return unusable("give yourself the right to write to the folder of the database, or name another file", "%w", err)
	}
	turn, err := filelock.NewTurnstile(filepath.Join(procs, "turn"))
	if err != nil {
		return unusable("give yourself the right to write beside the database, or name another file", "%w", err)
	}
	s.turn = turn
	s.owners = filelock.NewOwners(procs)
	if err := s.migrate(ctx, c); err != nil {
		return errors.Join(err, s.turn.Close())
	}
	return nil
}

// connect opens a connection and sets it up. Nothing is written to a file that is not ours.
func (s *Store) connect(ctx context.Context) (*conn, error) {
	db, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	db.SetBusyTimeout(0) // see patient
	c := &conn{DB: db}
	ctx, cancel := context.WithTimeout(ctx, s.o.BusyTimeout)
	defer cancel()
	if err := s.setUp(ctx, c); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

func (s *Store) setUp(ctx context.Context, c *conn) error {
	fresh := false
	err := patient(ctx, func() (err error) {
		if err := c.Do("begin"); err != nil { // one view, while another process may be making the file
			return err
		}
		defer c.Rollback()
		fresh, err = s.recognise(c)
		return err
	})
	if err != nil {
		return err
	}
	pragmas := []string{
		"journal_mode = wal",
		"synchronous = full",
		"wal_autocheckpoint = 0", // see checkpointer
		"journal_size_limit = -1",
		"cache_size = -8192", // what is in hand; a commit whose b-trees were split walks all that is kept
		"temp_store = memory",
		"foreign_keys = on",
	}
	if fresh { // works before the first table only, and writes
		pragmas = slices.Insert(pragmas, 0, "auto_vacuum = incremental")
	}
	if s.o.maxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count = %d", s.o.maxPages))
	}
	for _, p := range pragmas {
		if err := patient(ctx, func() error { return c.Do("pragma " + p) }); err != nil {
			return err
		}
	}
	return s.isLogged(ctx, c)
}

// isLogged sees that the switch to a write-ahead log took effect: some file systems cannot hold one.
func (s *Store) isLogged(ctx context.Context, c *conn) error {
	mode := ""
	err := patient(ctx, func() error {
		_, err := c.One("pragma journal_mode", func(r *row) error { mode = r.ColumnText(0); return nil })
		return err
	})
	if err == nil && mode != "wal" {
		return unusable("keep the database on a local disk", "%s cannot have a write-ahead log (journal mode %s)", s.path, mode)
	}
	return err
}

// recognise reads, in a transaction, whose file it is and of which version, and says whether it is empty.
func (s *Store) recognise(c *conn) (fresh bool, err error) {
	application, version, err := identity(c)
	if err != nil {
		return false, err
	}
	tables := 0
	_, err = c.One("select count(*) from sqlite_schema", func(r *row) error { tables = r.ColumnInt(0); return nil })
	switch {
	case err != nil:
		return false, err
	case application != applicationID && (application != 0 || tables > 0):
		return false, unusable("name another file", "%s is the database of another program", s.path)
	case version > len(migrations()):
		return false, &store.StoreError{
			Op: "open " + s.path, Kind: store.ErrUnusable,
			Hint: "use the newer millrace that wrote it, or name another file",
			Err:  fmt.Errorf("its schema has version %d, this program knows up to %d", version, len(migrations())),
		}
	}
	return tables == 0, nil
}

func identity(c *conn) (application, version int, err error) {
	_, err = c.One("pragma application_id", func(r *row) error { application = r.ColumnInt(0); return nil })
	if err != nil {
		return 0, 0, err
	}
	_, err = c.One("pragma user_version", func(r *row) error { version = r.ColumnInt(0); return nil })
	return application, version, err
}

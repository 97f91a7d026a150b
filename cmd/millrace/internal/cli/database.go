package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/cmd/millrace/internal/stores"
	"github.com/millrace-go/millrace/store"
)

const (
	folderName = ".millrace"
	fileName   = "millrace.db"
)

// database is where runs are kept: a file, or what url names. Beside the file, or where one would be, lies what belongs to this
// machine alone.
type database struct {
	path  string // absolute
	named bool   // by --db or $MILLRACE_DB
	url   string // of PostgreSQL; "": it is the file
	ears  *ears  // nil: of a file
}

func (d database) place() stores.Place {
	p := stores.Place{Path: d.path, URL: d.url}
	if d.ears != nil {
		p.Listen, p.Deaf = d.ears.url, d.ears.deaf
	}
	return p
}

// scratch is the folder of a run's steps on this machine.
func (d database) scratch(runID string) string {
	return filepath.Join(filepath.Dir(d.path), "scratch", runID)
}

// logs holds what attempts say while they run.
func (d database) logs() *logfile.Folder {
	return logfile.At(filepath.Join(filepath.Dir(d.path), "logs"))
}

// locate finds the database: the one that was named, else the nearest in this folder and those above, else the one that
// would be made here.
func (a *app) locate() (database, error) {
	name := orElse(a.db, os.Getenv("MILLRACE_DB"))
	switch {
	case stores.Remote(name):
		d, err := nearest("")
		if err == nil {
			d.ears, err = a.listenAt()
		}
		d.named, d.url = true, name
		return d, err
	case a.listenDB != "":
		return database{}, usage("leave --listen-db out, or name the database with --db postgres://USER@HOST/DATABASE",
			"--listen-db is for a database of PostgreSQL alone")
	case name != "":
		return named(name)
	}
	return nearest(fileName)
}

// nearest finds the database that has a file of this name beside it, in this folder and those above; else the one that would be
// made here. Without a name its folder is enough.
func nearest(mark string) (database, error) {
	here, err := os.Getwd()
	if err != nil {
		return database{}, fmt.Errorf("find the folder that this is: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, folderName)
		if _, err := os.Stat(filepath.Join(folder, mark)); err == nil {
			return database{path: filepath.Join(folder, fileName)}, nil
		}
		if dir == filepath.Dir(dir) {
			return database{path: filepath.Join(here, folderName, fileName)}, nil
		}
	}
}

func named(name string) (database, error) {
	scheme, path, found := strings.Cut(name, ":")
	if !found || scheme != "sqlite" || path == "" {
		return database{}, usage("write --db sqlite:PATH or --db postgres://USER@HOST/DATABASE", "%q does not name a database", stores.Redact(name))
	}
	path, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return database{}, fmt.Errorf("database %s: %w", name, err)
	}
	return database{path: path, named: true}, nil
}

// errNoDatabase: there is no database yet, so there is no run.
var errNoDatabase = &failure{
	status: statusRefused, code: "not_found", message: "there is no run yet", hint: "`millrace run FILE` starts one",
}

// create opens the database, and makes it when there is none. A call waits for a locked one for at most patience. The schema of
// PostgreSQL is only made, or brought up, when migrates says so: others may be working on it.
func (a *app) create(ctx context.Context, patience arguments.Duration, migrates bool) (store.Store, database, error) {
	d, err := a.locate()
	if err != nil {
		return nil, d, err
	}
	if !d.named || d.url != "" {
		if err := makeFolder(filepath.Dir(d.path)); err != nil {
			return nil, d, err
		}
	}
	st, err := openStore(ctx, d, patience, migrates)
	return st, d, err
}

// open opens the database that must be there. errNoDatabase says that none was named and none found.
func (a *app) open(ctx context.Context) (store.Store, database, error) {
	d, err := a.locate()
	if err != nil {
		return nil, d, err
	}
	if d.url != "" {
		st, err := openStore(ctx, d, arguments.Duration(desk.CallTimeout), false)
		return st, d, err
	}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		if !d.named {
			return nil, d, errNoDatabase
		}
		return nil, d, &failure{
			status: statusStore, code: "store", message: "there is no database " + d.path,
			hint: "look at --db and $MILLRACE_DB; `millrace run` makes it",
		}
	}
	st, err := openStore(ctx, d, arguments.Duration(desk.CallTimeout), false)
	return st, d, err
}

// longestBusy is how long one call waits for a database that another program has locked.
const longestBusy = 10 * time.Second

func openStore(ctx context.Context, d database, patience arguments.Duration, migrates bool) (store.Store, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return d.place().Open(ctx, min(time.Duration(patience), longestBusy), migrates)
}

// makeFolder makes the folder of a database with a .gitignore of its own.
func makeFolder(dir string) error {
	err := os.MkdirAll(dir, 0o750)
	if err == nil {
		ignore := filepath.Join(dir, ".gitignore")
		if _, gone := os.Stat(ignore); errors.Is(gone, fs.ErrNotExist) {
			err = os.WriteFile(ignore, []byte("*\n"), 0o600)
		}
	}
	if err != nil {
		return &failure{
			status: statusStore, code: "store", message: fmt.Sprintf("make the folder of the database: %v", err),
			hint: "name another place with --db sqlite:PATH",
		}
	}
	return nil
}

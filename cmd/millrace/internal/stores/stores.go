// Package stores opens the store of a database: the one place that names PostgreSQL and SQLite.
//
// Nouns: a [Place] is where a database is: a file, or what a URL names.
//
// It imports store and the stores.
package stores

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres"
	"github.com/millrace-go/millrace/store/sqlite"
)

// Place is where a database is. URL goes first.
type Place struct {
	Path string // of a SQLite file, absolute
	URL  string // of PostgreSQL
	// Listen is another URL of the same database, at which hints of other processes are heard. Default: URL.
	Listen string
	// Deaf is told once why hints cannot be heard there; nil: nobody is.
	Deaf func(error)
}

// Remote says whether name is the URL of a PostgreSQL database.
func Remote(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// String tells people which database it is, without its password.
func (p Place) String() string {
	if p.URL == "" {
		return p.Path
	}
	return Redact(p.URL)
}

// What may be a password in the name of a database, however it is written: what stands between a colon and the last @, and the
// values of settings that are called so.
var (
	credentials = regexp.MustCompile(`^(?:(\w+://[^:/?@]*):.*|([^:/?@]+):[^/].*)@`)
	settings    = regexp.MustCompile(`(?i)(password|passwd|secret|token)=('[^']*'|[^&\s]*)`)
)

// Redact gives the name of a database without what may be a password in it.
func Redact(name string) string {
	return settings.ReplaceAllString(credentials.ReplaceAllString(name, "$1$2:***@"), "$1=***")
}

// Open opens it. A file is made when it is not there, and brought up to this program's version; a schema of PostgreSQL when
// migrates says so. A locked file is waited for as long as busy.
func (p Place) Open(ctx context.Context, busy time.Duration, migrates bool) (store.Store, error) {
	if p.URL != "" {
		return given(postgres.Open(ctx, p.URL, postgres.Options{Migrate: migrates, ListenURL: p.Listen, Deaf: p.Deaf}))
	}
	return given(sqlite.Open(ctx, p.Path, sqlite.Options{BusyTimeout: busy}))
}

// given keeps a store that is none from becoming one that is not nil.
func given[S store.Store](st S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Examine tells how its tables stand, and changes nothing.
func (p Place) Examine(ctx context.Context) (store.Schema, error) {
	if p.URL != "" {
		return postgres.Examine(ctx, p.URL, postgres.Options{})
	}
	return sqlite.Examine(ctx, p.Path)
}

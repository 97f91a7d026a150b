package cli

import (
	"context"
	"path/filepath"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/upkeep"
	"github.com/millrace-go/millrace/store"
)

// atTables finds the database whose tables are meant.
func (a *app) atTables() (upkeep.Desk, error) {
	d, err := a.locate()
	at := upkeep.Desk{Keeper: tables{d}, Out: a.out}
	if a.json {
		at.Print = a.print
	}
	return at, err
}

// tables are those of a SQLite file, or of a schema of PostgreSQL.
type tables struct{ d database }

func (t tables) Name() string { return t.d.place().String() }

func (t tables) Examine(ctx context.Context) (store.Schema, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return t.d.place().Examine(ctx)
}

func (t tables) Migrate(ctx context.Context) error {
	if !t.d.named {
		if err := makeFolder(filepath.Dir(t.d.path)); err != nil {
			return err
		}
	}
	st, err := openStore(ctx, t.d, arguments.Duration(longestBusy), true)
	if err != nil {
		return err
	}
	return st.Close()
}

// Automatic is true of a file: it belongs to those who can write to it. A schema of PostgreSQL is brought up by run alone.
func (t tables) Automatic() bool { return t.d.url == "" }

// Package upkeep is the command that brings a database's tables up to the program's version.
//
// Nouns: a [Keeper] knows the tables of one database; [Desk] is where its answers go.
//
// It imports store.
package upkeep

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/store"
)

// Keeper knows the tables of a database, which need not be one that this program can open yet.
type Keeper interface {
	// Name tells people which database it is.
	Name() string
	// Examine tells how it stands, and changes nothing.
	Examine(ctx context.Context) (store.Schema, error)
	// Migrate brings it up to this program's version, and makes it when it is not there.
	Migrate(ctx context.Context) error
	// Automatic says whether every command that opens it does that too.
	Automatic() bool
}

// Desk is where answers go.
type Desk struct {
	Keeper Keeper
	// Print writes a document; nil: text is wanted.
	Print func(doc any) error
	Out   io.Writer
}

// migration is what `migrate` gives.
type migration struct {
	Database  string   `json:"database"`
	Version   int      `json:"version"` // afterwards
	Newest    int      `json:"newest"`
	Applied   []string `json:"applied"`
	Missing   []string `json:"missing"` // in a dry run: what would be applied
	Automatic bool     `json:"automatic"`
	DryRun    bool     `json:"dry_run"`
}

// Migrate gives the command; open finds the database when it is called.
func Migrate(open func() (Desk, error)) *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's tables up to this version of the program",
		Long: `Applies what is missing of the migrations that this program knows, and tells the version of the tables. They go forward only;
tables that a newer program has changed serve older ones as long as they say so, and are refused otherwise.

A SQLite file is also migrated by whatever command opens it, tables of PostgreSQL by "run" alone, when its role may.`,
		Example: `  millrace migrate --dry-run
  millrace migrate`,
		Args: arguments.AtMost(0, "usage: millrace migrate [--dry-run]"),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := open()
			if err != nil {
				return err
			}
			return d.migrate(c.Context(), dry)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, and tell what is missing")
	return c
}

func (d Desk) migrate(ctx context.Context, dry bool) error {
	schema, err := d.Keeper.Examine(ctx)
	if err != nil {
		return err
	}
	missing := append([]string{}, schema.Missing...)
	m := migration{
		Database: d.Keeper.Name(), Version: schema.Version, Newest: schema.Newest, Missing: missing, Applied: []string{},
		Automatic: d.Keeper.Automatic(), DryRun: dry,
	}
	if !dry {
		if err := d.Keeper.Migrate(ctx); err != nil {
			return err
		}
		m.Version, m.Applied, m.Missing = max(schema.Version, schema.Newest), missing, []string{}
	}
	if d.Print != nil {
		return d.Print(m)
	}
	_, err = io.WriteString(d.Out, m.text())
	return err
}

func (m *migration) text() string {
	var b strings.Builder
	did, names := "applied", m.Applied
	if m.DryRun {
		did, names = "missing", m.Missing
	}
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", did, name)
	}
	fmt.Fprintf(&b, "%s has version %d of the tables, this program", m.Database, m.Version)
	if m.Version > m.Newest { // it would be refused otherwise
		fmt.Fprintf(&b, " knows %d: they serve it\n", m.Newest)
	} else {
		fmt.Fprintf(&b, "'s is %d\n", m.Newest)
	}
	if m.Automatic && m.DryRun && len(names) > 0 {
		b.WriteString("any command that opens it applies what is missing\n")
	}
	return b.String()
}

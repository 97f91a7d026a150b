package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
)

// schemaKeeper knows the schema of a database, which need not be one that this program can open yet.
type schemaKeeper interface {
	// Examine tells how it stands, and changes nothing.
	Examine(ctx context.Context) (store.Schema, error)
	// Migrate brings it up to this program's version.
	Migrate(ctx context.Context) error
	// Automatic says whether every command that opens it does that too.
	Automatic() bool
}

// migrationPage is what `migrate` gives.
type migrationPage struct {
	Database  string   `json:"database"`
	Version   int      `json:"version"` // afterwards
	Newest    int      `json:"newest"`
	Applied   []string `json:"applied"`
	Missing   []string `json:"missing"` // in a dry run: what would be applied
	Automatic bool     `json:"automatic"`
	DryRun    bool     `json:"dry_run"`
}

func (a *app) migrateCommand() *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's tables up to this version of the program",
		Long: `Applies what is missing of the migrations that this program knows, and tells the version of the tables. They go forward only;
a database that a newer program has migrated is refused by an older one.

A SQLite file is also migrated by whatever command opens it.`,
		Example: `  millrace migrate --dry-run
  millrace migrate`,
		Args: atMost(0, "usage: millrace migrate [--dry-run]"),
		RunE: func(c *cobra.Command, _ []string) error { return a.migrate(c.Context(), dry) },
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, and tell what is missing")
	return c
}

func (a *app) migrate(ctx context.Context, dry bool) error {
	d, err := a.locate()
	if err != nil {
		return err
	}
	k := schemaKeeper(sqliteSchema{d})
	before, err := k.Examine(ctx)
	if err != nil {
		return err
	}
	page := migrationPage{
		Database: d.path, Version: before.Version, Newest: before.Newest, Missing: slices.Clone(before.Missing), Applied: []string{},
		Automatic: k.Automatic(), DryRun: dry,
	}
	if !dry {
		if err := k.Migrate(ctx); err != nil {
			return err
		}
		page.Version, page.Applied, page.Missing = before.Newest, page.Missing, []string{}
	}
	if page.Missing == nil {
		page.Missing = []string{}
	}
	if page.Applied == nil {
		page.Applied = []string{}
	}
	if a.json {
		return a.print(page)
	}
	return writeText(a.out, page.text())
}

func (p *migrationPage) text() string {
	var b strings.Builder
	did, names := "applied", p.Applied
	if p.DryRun {
		did, names = "missing", p.Missing
	}
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", did, name)
	}
	fmt.Fprintf(&b, "%s has version %d of the tables, this program's is %d\n", p.Database, p.Version, p.Newest)
	if p.Automatic && p.DryRun && len(names) > 0 {
		b.WriteString("any command that opens it applies what is missing\n")
	}
	return b.String()
}

// sqliteSchema is that of a file.
type sqliteSchema struct{ d database }

// Examine looks at the file; one that is not there is empty.
func (s sqliteSchema) Examine(ctx context.Context) (store.Schema, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return sqlite.Examine(ctx, s.d.path)
}

// Migrate opens the file, and makes it when it is not there.
func (s sqliteSchema) Migrate(ctx context.Context) error {
	if !s.d.named {
		if err := makeFolder(filepath.Dir(s.d.path)); err != nil {
			return err
		}
	}
	st, err := openFile(ctx, s.d, arguments.Duration(longestBusy))
	if err != nil {
		return err
	}
	return st.Close()
}

// Automatic is true: a file belongs to those who can write to it.
func (s sqliteSchema) Automatic() bool { return true }

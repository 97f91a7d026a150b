package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

// describe says what is measured with which settings on which machine.
func describe(ctx context.Context, c *pgcluster.Cluster) ([]string, error) {
	out := []string{
		fmt.Sprintf("%s, %d processors (%s), %s, %s", time.Now().UTC().Format("2 January 2006"), runtime.NumCPU(), processor(), runtime.GOOS,
			runtime.Version()),
	}
	if c != nil {
		text, err := settings(ctx, c.URL("postgres"))
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	out = append(out, "modules: "+modules())
	for _, s := range systems {
		if len(s.knobs) > 0 {
			out = append(out, fmt.Sprintf("%s on %s: %s", s.name, s.store, s.knobs))
		}
	}
	return out, nil
}

// String lists settings by name.
func (k knobs) String() string {
	var all []string
	for name, value := range k {
		all = append(all, fmt.Sprintf("%s %d", name, value))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for l := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// measured are the modules whose versions matter.
var measured = []string{
	"github.com/riverqueue/river", "github.com/dbos-inc/dbos-transact-golang", "github.com/cschleiden/go-workflows",
	"github.com/jackc/pgx/v5", "modernc.org/sqlite", "zombiezen.com/go/sqlite",
}

func modules() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var out []string
	for _, m := range info.Deps {
		if slices.Contains(measured, m.Path) {
			out = append(out, m.Path+" "+m.Version)
		}
	}
	return strings.Join(out, ", ")
}

// settings gives the version of a server and what it was told.
func settings(ctx context.Context, url string) (text string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var version string
	if err := conn.QueryRow(ctx, "select version()").Scan(&version); err != nil {
		return "", err
	}
	rows, err := conn.Query(ctx, `select name || ' ' || current_setting(name) from pg_settings
where name = any($1) or (source = 'configuration file' and name ~ '^(shared_buffers|max_wal|checkpoint|wal_|effective|random)')
order by name`, []string{"fsync", "synchronous_commit", "full_page_writes"})
	if err != nil {
		return "", err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return version + "; " + strings.Join(all, ", "), err
}

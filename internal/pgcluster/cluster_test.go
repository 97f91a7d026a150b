package pgcluster_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

func ask(t *testing.T, url, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	out := ""
	if err := conn.QueryRow(t.Context(), query, pgx.QueryExecModeSimpleProtocol).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestADatabaseIsFreshAndACopyHasWhatWasPrepared(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	first, second := c.Database(t), c.Database(t)
	if first == second {
		t.Errorf("both databases are %s", first)
	}
	prepared := 0
	for range 2 {
		name := c.Copy(t, "filled "+first, func(ctx context.Context, url string) error {
			prepared++
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			if _, err := conn.Exec(ctx, "create table a as select 'x' as b"); err != nil {
				return err
			}
			return conn.Close(ctx)
		})
		if got := ask(t, c.URL(name), "select b from a"); got != "x" {
			t.Errorf("the copy holds %q", got)
		}
	}
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
}

func TestAClusterIsDurableUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	c := pgcluster.Start(t, pgcluster.Options{})
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := ask(t, c.URL("postgres"), "show "+setting); got != "on" {
			t.Errorf("%s is %s", setting, got)
		}
	}
	if got := ask(t, pgcluster.Shared(t).URL("postgres"), "show fsync"); got != "off" {
		t.Errorf("fsync of the shared cluster is %s", got)
	}
}

func TestWhatWasCommittedOutlivesACrash(t *testing.T) {
	t.Parallel()
	c := pgcluster.Start(t, pgcluster.Options{})
	name := c.Database(t)
	if err := c.Exec(t.Context(), name, "create table a as select 'x' as b"); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(pgcluster.Immediate); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), name, "select 1"); err == nil {
		t.Error("a stopped server answers")
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c.URL(name), "select b from a"); got != "x" {
		t.Errorf("the table holds %q", got)
	}
}

func TestAPoolerLendsConnectionsOfTheCluster(t *testing.T) {
	t.Parallel()
	p := pgcluster.SharedPooler(t)
	name := pgcluster.Shared(t).Database(t)
	if got := ask(t, p.URL(name), "select current_database()::text"); got != name {
		t.Errorf("the database is %s, want %s", got, name)
	}
}

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/internal/sim"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/faulty"
	"github.com/millrace-go/millrace/store/postgres"
)

// byHand has the schema go by a clock that is set, instead of the database's. A sequence shows every session its value at once
// and leaves no dead rows.
const byHand = `create sequence millrace.hand;
	create or replace function millrace.clock() returns bigint language sql stable return (select last_value from millrace.hand)`

// doomed has the connection that next writes into a journal end there, in the middle of its transaction, when the sequence says so.
const doomed = `create sequence millrace.doom;
	create function millrace.die() returns trigger language plpgsql as $$ begin
		if (select last_value from millrace.doom) > 1 then
			perform setval('millrace.doom', 1), pg_terminate_backend(pg_backend_pid());
		end if;
		return new;
	end $$;
	create trigger die before insert on millrace.journal for each row execute function millrace.die()`

// alone has no vacuum come by, which would have the server plan differently from one moment of real time to another. Each
// simulation begins with empty tables.
const alone = `do $$ declare t text; begin
		for t in select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'millrace' loop
			execute 'alter table ' || t || ' set (autovacuum_enabled = off)';
		end loop;
	end $$`

// prepared fills the database that those of the simulations are copies of.
func prepared(ctx context.Context, url string) error {
	s, err := postgres.Open(ctx, url, postgres.Options{Migrate: true, NoHints: true})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	_, err = conn.PgConn().Exec(ctx, byHand+";"+doomed+";"+alone).ReadAll()
	return errors.Join(err, conn.Close(ctx), s.Close())
}

// ground is a database on which one simulation after the other takes place.
type ground struct {
	*testing.T

	url    string
	conn   *pgx.Conn // moves the clock
	tables string    // that one simulation leaves to the next empty
	shown  machine.Time
	opened int
	struck int
}

func newGround(t *testing.T) *ground {
	t.Helper()
	c := pgcluster.Shared(t)
	g := &ground{T: t, url: c.URL(c.Copy(t, "sim", prepared))}
	var err error
	if g.conn, err = pgx.Connect(t.Context(), g.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.conn.Close(context.Background()) }) // the database is dropped
	const query = `select string_agg(format('%I.%I', schemaname, tablename), ', ') from pg_tables
		where schemaname = 'millrace' and tablename <> 'migrations'`
	if err := g.conn.QueryRow(t.Context(), query).Scan(&g.tables); err != nil {
		t.Fatal(err)
	}
	return g
}

// run simulates a seed on two handles of processes and one of the simulation's own.
func (g *ground) run(seed uint64, o sim.Options) sim.Report {
	g.Helper()
	g.exec("truncate " + g.tables + " restart identity")
	g.exec("select setval('millrace.doom', 1)")
	g.opened, g.struck = 0, 0
	o.Open, o.Handles = g.open, 2
	return sim.Run(g.Context(), seed, o)
}

// handles is the name that connections of processes have: those of the simulation itself are never struck.
const handles = "handle"

// open opens a handle that shows the database the time before each call.
func (g *ground) open(now func() machine.Time) (store.Store, error) {
	name := handles
	if g.opened++; g.opened == 1 {
		name = "witness"
	}
	s, err := postgres.Open(g.Context(), g.url+"&application_name="+name, postgres.Options{NoHints: true, MaxConns: 2, Timeout: patience})
	if err != nil {
		return nil, err
	}
	return faulty.New(s, func(string, int) faulty.Fault {
		return faulty.Fault{Wait: func(ctx context.Context) error { return g.show(ctx, now()) }}
	}), nil
}

// show sets the database's clock.
func (g *ground) show(ctx context.Context, now machine.Time) error {
	if now == g.shown {
		return nil
	}
	_, err := g.conn.Exec(ctx, "select setval('millrace.hand', $1)", int64(now))
	if g.shown = now; err != nil {
		g.shown = 0
	}
	return err
}

// strike dooms the next transaction that settles something, or ends all connections of processes, in turns. It goes on when
// they are gone: all are told first, then each is waited for.
func (g *ground) strike() {
	if g.struck++; g.struck%3 > 0 {
		g.exec("select setval('millrace.doom', 2)")
		return
	}
	g.exec(`select count(pg_terminate_backend(pid, 5000)) from unnest((select array_agg(case when pg_terminate_backend(pid) then pid end)
		from pg_stat_activity where datname = current_database() and application_name = '` + handles + `')) as pid`)
}

func (g *ground) exec(query string) {
	g.Helper()
	if _, err := g.conn.Exec(g.Context(), query); err != nil {
		g.Error(fmt.Errorf("%s: %w", query, err))
	}
}

// The same on PostgreSQL, with processes on two pools, and connections that end between two steps: MILLRACE_SIM_POSTGRES says
// how many seeds.
func TestSeedsHoldTheInvariantsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	chosen := options(t)
	seedsOf(t, "MILLRACE_SIM_POSTGRES", few(16, 4), func(t *testing.T) func(seed uint64) sim.Report {
		t.Helper()
		g := newGround(t)
		return func(seed uint64) sim.Report {
			o := chosen
			if seed%4 > 1 {
				o.Strike = g.strike
			}
			return g.run(seed, o)
		}
	})
}

// F12. Not where connections end: the pool finds out by itself about one that rested for a second of real time.
func TestEqualSeedsGiveEqualTracesOnPostgreSQL(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	for seed := range uint64(few(2, 1)) {
		o := sim.Options{Steps: 100}
		if a, b := g.run(seed, o), g.run(seed, o); a.Hash != b.Hash {
			t.Errorf("seed %d: two executions differ", seed)
		}
	}
}

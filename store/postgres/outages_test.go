package postgres

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

func workflows(s *Store) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Workflows(ctx, "acme")
		return err
	}
}

// What a limit of the server ends is told as such, and the store is used again.
func TestALimitOfTheServerEndsACallAlone(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"statement_timeout", "lock_timeout"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			c := pgcluster.Shared(t)
			url := c.URL(c.Copy(t, "plain", migrated))
			s := open(t, url, Options{MaxConns: 1, NoHints: true})
			_, free := locked(t, url)
			if _, err := s.pool.Exec(t.Context(), "set "+limit+" = '100ms'"); err != nil { // in the one session that there is
				t.Fatal(err)
			}
			fault(t, workflows(s)(t.Context()), store.ErrUnavailable, "try again")
			free()
			again(t, workflows(s)) // a machine may be so busy that the limit ends some of them too
		})
	}
}

// again repeats a call until the server can carry it out.
func again(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		switch err := call(ctx); {
		case err == nil:
			return
		case ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable):
			t.Fatal(err)
		}
	}
}

func TestAServerWithoutAConnectionLeftSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	err := c.Exec(t.Context(), name, "create role guest_"+name+" login", "grant usage on schema millrace to guest_"+name,
		"grant all on all tables in schema millrace to guest_"+name)
	if err != nil {
		t.Fatal(err)
	}
	guest := "postgres://guest_" + name + "@" + c.Address() + "/" + name
	s := open(t, guest, Options{MaxConns: 1, NoHints: true})
	ended, free := blocked(t, c.URL(name), workflows(s))
	if err := c.Exec(t.Context(), name, "alter role guest_"+name+" connection limit 1"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), guest, Options{NoHints: true})
	fault(t, err, store.ErrUnavailable, "max_connections")
	free()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The server says it with a code: it is raised here by a trigger, since no disk can be filled.
func TestAFullDiskOfTheServerIsNamed(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "standing", standingStill)
	s := open(t, c.URL(name), Options{MaxConns: 2, NoHints: true})
	const full = `create function full_disk() returns trigger language plpgsql as $$ begin raise sqlstate '53100'; end $$;
		create trigger full_disk before insert on millrace.runs execute function full_disk()`
	if err := c.Exec(t.Context(), name, strings.Split(full, ";\n")...); err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, n := range []int{1, 5} {
		fault(t, startSome(t.Context(), s, n, &last), store.ErrUnavailable, "the disk of the server is full")
	}
	if err := c.Exec(t.Context(), name, "drop trigger full_disk on millrace.runs"); err != nil {
		t.Fatal(err)
	}
	if err := startSome(t.Context(), s, 1, &last); err != nil {
		t.Error(err)
	}
}

// A right that is taken away while the store is open.
func TestALostRightIsNamed(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	grant := func(statements ...string) {
		t.Helper()
		if err := c.Exec(t.Context(), name, statements...); err != nil {
			t.Fatal(err)
		}
	}
	role := "poor_" + name
	grant("create role "+role+" login", "grant usage on schema millrace to "+role, "grant all on all tables in schema millrace to "+role)
	s := open(t, "postgres://"+role+"@"+c.Address()+"/"+name, Options{MaxConns: 2, NoHints: true})
	grant("revoke all on all tables in schema millrace from " + role)
	fault(t, workflows(s)(t.Context()), store.ErrUnusable, "a right to the schema")
}

// A standby is refused, passed over where the primary is asked for, and used once it has been made the primary.
//
// A10, as far as a store is concerned.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	first := pgcluster.Start(t, pgcluster.Options{})
	name := first.Copy(t, "standing", standingStill)
	second := first.Standby(t)
	_, err := Open(t.Context(), second.URL(name), Options{})
	fault(t, err, store.ErrUnusable, "primary")

	both := "postgres://" + pgcluster.User + "@" + second.Address() + "," + first.Address() + "/" + name + "?" +
		url.Values{"target_session_attrs": {"read-write"}}.Encode()
	s := open(t, both, Options{NoHints: true})
	before := ""
	if err := startSome(t.Context(), s, 3, &before); err != nil {
		t.Fatal(err)
	}
	second.CatchUp(t, first)
	if err := first.Stop(pgcluster.Immediate); err != nil {
		t.Fatal(err)
	}
	fault(t, workflows(s)(t.Context()), store.ErrUnavailable, "")
	if err := second.Exec(t.Context(), "postgres", "select pg_promote(true, 300)"); err != nil {
		t.Fatal(err)
	}
	again(t, func(ctx context.Context) error {
		_, err := s.State(ctx, "default", before, nil, nil)
		return err
	})
}

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

// hearing starts to listen for a watcher that does not poll, and gives what wakes it and how it ended. A machine that is busy
// may hear so late that it takes itself for deaf: then it listens again.
func hearing(t *testing.T, s *Store) (wakes <-chan store.Hint, ended <-chan error) {
	t.Helper()
	watcher, end := make(chan store.Hint, 1), make(chan error, 1)
	s.hints.mu.Lock()
	s.hints.watchers[watcher] = struct{}{}
	s.hints.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	go func() {
		err := errDeaf
		for ctx.Err() == nil && errors.Is(err, errDeaf) {
			err = s.hints.listen(ctx)
		}
		end <- err
	}()
	return watcher, end
}

func TestAHintOfAnotherHandleIsHeard(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "plain", migrated)
	first, second := open(t, c.URL(name), Options{}), open(t, c.URL(name), Options{})
	wakes, ended := hearing(t, second)
	for range 3 { // the first says that it listens
		select {
		case <-wakes:
		case err := <-ended:
			t.Fatal(err)
		}
		first.hints.hint(store.Hint{})
	}
}

func TestAChannelHasANameThatIsShortEnough(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	names := map[string]bool{}
	for _, schema := range []string{"a", long[1:] + "y", long} {
		name := newHints(newStore(Options{Schema: schema}), "").channel()
		if len(name) > 63 || names[name] {
			t.Errorf("the channel of %s is %s", schema, name)
		}
		names[name] = true
	}
}

func TestAPoolerThatHearsNothingIsFoundOut(t *testing.T) {
	t.Parallel()
	c, p := pgcluster.Shared(t), pgcluster.SharedPooler(t)
	name := c.Copy(t, "plain", migrated)
	deaf := open(t, p.URL(name), Options{})
	if err := deaf.hints.listen(t.Context()); !errors.Is(err, errDeaf) {
		t.Errorf("got %v, want %v", err, errDeaf)
	}
	past := open(t, p.URL(name), Options{ListenURL: c.URL(name)})
	wakes, ended := hearing(t, past)
	select {
	case <-wakes:
	case err := <-ended:
		t.Errorf("past the pooler: %v", err)
	}
}

func TestAPoolerIsRecognised(t *testing.T) {
	t.Parallel()
	c, p := pgcluster.Shared(t), pgcluster.SharedPooler(t)
	name := c.Copy(t, "plain", migrated)
	for url, want := range map[string]bool{c.URL(name): false, p.URL(name): true} {
		s := open(t, url, Options{})
		seen, err := look(t.Context(), s.pool.Config().ConnConfig)
		if err != nil {
			t.Fatal(err)
		}
		if seen.pooled != want {
			t.Errorf("%s: pooled is %t", url, seen.pooled)
		}
	}
}

// What a pooler was told of one client must not reach another: nothing is prepared, and no setting outlives its transaction.
func TestNothingIsLeftInASession(t *testing.T) {
	t.Parallel()
	c, p := pgcluster.Shared(t), pgcluster.SharedPooler(t)
	name := c.Copy(t, "standing", standingStill)
	s := open(t, p.URL(name), Options{MaxConns: 1})
	benchStartAll(t, s, 3, atStand)
	var prepared int
	var lost string
	err := s.pool.QueryRow(t.Context(), `select (select count(*) from pg_prepared_statements where name <> ''),
		coalesce(current_setting('millrace_batch.lost', true), '')`).Scan(&prepared, &lost)
	if err != nil {
		t.Fatal(err)
	}
	if prepared != 0 || lost != "" {
		t.Errorf("%d statements are prepared, and the setting is %q", prepared, lost)
	}
}

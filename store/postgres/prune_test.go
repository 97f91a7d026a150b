package postgres

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Runs are gone before what they leave behind is: whoever keeps something of theirs elsewhere must hear it.
func TestPruningThatFailsTellsWhatIsGone(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	name := c.Copy(t, "standing", standingStill)
	s := open(t, c.URL(name), Options{MaxConns: 2, NoHints: true})
	last := ""
	if err := startSome(t.Context(), s, 3, &last); err != nil {
		t.Fatal(err)
	}
	const ending = `update millrace.runs set status = 'succeeded', finished_at = at;
		delete from millrace.tasks;
		create function kept() returns trigger language plpgsql as $$ begin raise sqlstate '53100'; end $$;
		create trigger kept before delete on millrace.journal execute function kept()`
	if err := c.Exec(t.Context(), name, strings.Split(ending, ";\n")...); err != nil {
		t.Fatal(err)
	}
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	order := store.PruneOrder{EveryTenant: true, Before: map[machine.Status]machine.Time{machine.Succeeded: now.Add(1e9)}}
	out, err := s.Prune(t.Context(), order)
	fault(t, err, store.ErrUnavailable, "the disk of the server is full")
	if len(out.Runs) != 3 {
		t.Errorf("%d runs are told to be gone, want 3", len(out.Runs))
	}
	if err := c.Exec(t.Context(), name, "drop trigger kept on millrace.journal"); err != nil {
		t.Fatal(err)
	}
	if out, err = s.Prune(t.Context(), order); err != nil || len(out.Runs) > 0 {
		t.Errorf("the next call removed %d runs, %v: they were gone", len(out.Runs), err)
	}
}

package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// Statistics that somebody had made have SQLite plan each statement anew when something is bound to it: they do not stay, neither
// in the file nor with the connections that are opened.
//
// Q6
func TestStatisticsThatSomebodyMadeAreForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "analyzed.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := script(t, path, `insert into lanes (id, tenant, queue, handler, workflow) values (1, 't', '', 'h', 'w');
		with n (i) as (select 1 union all select i + 1 from n where i < 20000)
			insert into tasks (run, path, lane, rank, state, due, priority, attempt, cause, lease_ms, ready_at, refs, env)
			select unhex(printf('%032x', i)), 'step', 1, i, 0, 0, 0, 1, 1, 0, 0, '', '' from n;
		analyze`)
	if have, err := link.Statistics(&conn{DB: db}); err != nil || len(have) == 0 {
		t.Fatalf("there are no statistics to forget: %v", err)
	}
	again := open(t, path, Options{})
	if have, err := link.Statistics(&conn{DB: db}); err != nil || len(have) > 0 {
		t.Errorf("left are %v, %v", have, err)
	}
	if plan, _ := planOf(t, again, lapsedSQL); strings.Contains(plan, "SCAN l") {
		t.Errorf("the connection plans by them:\n%s", plan)
	}
}

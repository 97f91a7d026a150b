package sqlite

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// older makes a file as a program made it that knew the first n migrations, with these rows.
func older(t *testing.T, path string, n int, rows string) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(createMigrations + ";\n")
	for i, m := range migrations()[:n] {
		text.WriteString(m.text)
		fmt.Fprintf(&text, "insert into migrations values (%d, '%s', '%s', 1);\n", i+1, m.name, m.sum)
	}
	fmt.Fprintf(&text, "pragma user_version = %d;\npragma application_id = %d;\n", n, applicationID)
	text.WriteString(rows)
	if err := sqlitex.ExecuteScript(db, text.String(), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// K2
func TestAFileOfTheFirstReleaseIsBroughtUpWithAllThatItHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	run := benchRun(5)
	id, _ := link.ParseID(run.ID)
	hexID := "x'" + hex.EncodeToString(id[:]) + "'"
	doc := "x'" + hex.EncodeToString(run.EncodeRoot()) + "'"
	older(t, path, 1, strings.NewReplacer("RUN", hexID, "DOC", doc).Replace(`
		insert into runs values (RUN, 'default', 'bench', 1, '', '', 1, 5, 'stopping', 3, 1, 5, 5, 0, 0, null, '', DOC);
		insert into lanes (tenant, queue, handler, workflow) values ('default', 'q', 'h', 'bench');
		insert into tasks values (RUN, 'ready', 1, 5, 0, 0, 2, 0, 1, 0, 5, 0, '', 0, 0, 0, '', '{}');
		insert into tasks values (RUN, 'later', 1, 5, 1, 9000000000000000, 0, 3, 1, 7, 5, 0, '', 0, 0, 0, '1', '{}');
		insert into tasks values (RUN, 'leased', 1, 5, 2, 0, 0, 1, 1, 0, 5, 77, 'o', 9, 6, 1, '', '{}');
		insert into dead_letters (tenant, run, kind, path, error, created_at) values
			('default', RUN, 'failure', 'a', '{"code":"old"}', 5), ('default', RUN, 'failure', 'a', null, 6),
			('default', RUN, 'failure', 'b', null, 7);
	`))
	s := open(t, path, Options{})
	tasks, err := s.Tasks(t.Context(), "default", run.ID, nil)
	if err != nil || len(tasks) != 3 {
		t.Fatalf("tasks %+v, %v", tasks, err)
	}
	later, leased, ready := tasks[0], tasks[1], tasks[2]
	if later.State != store.Delayed || later.Due != 9000000000000000 || later.Attempt != 3 || later.Lease != 7 || len(later.Refs) != 1 {
		t.Errorf("the delayed task is %+v", later)
	}
	if leased.State != store.Leased || leased.Token != 77 || leased.Owner != "o" || !leased.Stop || leased.ClaimedAt != 6 {
		t.Errorf("the leased task is %+v", leased)
	}
	if ready.State != store.Ready || ready.Priority != 2 {
		t.Errorf("the ready task is %+v", ready)
	}
	letters, err := s.Letters(t.Context(), store.LetterFilter{Tenant: "default", State: machine.LetterOpen})
	if err != nil || len(letters) != 2 || letters[0].Path != "b" || letters[1].CreatedAt != 6 || letters[1].Workflow != "bench" {
		t.Errorf("open letters %+v, %v", letters, err)
	}
	rows, err := s.Runs(t.Context(), store.Filter{Tenant: "default", Status: []machine.Status{machine.Stopping}})
	if err != nil || len(rows) != 1 || rows[0].StateVersion != 3 {
		t.Errorf("stopping runs %+v, %v", rows, err)
	}
	got, err := s.Claim(t.Context(), store.Claim{Owner: "o", Token: 5, Lease: 1e9, Limit: 9, Lanes: []store.LaneLimit{{Lane: 1, Limit: 9}}})
	if err != nil || len(got) != 1 || got[0].Path != "ready" {
		t.Errorf("claimed %+v, %v", got, err)
	}
}

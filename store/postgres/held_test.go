package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

// A17: whoever holds the row of one run keeps those of the same batch from nothing, and that one until it is free.
func TestARunThatSomebodyHoldsKeepsNoOtherOfItsBatchWaiting(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	url := c.URL(c.Copy(t, "standing", standingStill))
	s := open(t, url, Options{MaxConns: 4, NoHints: true})
	benchStartAll(t, s, 3, atStand)
	claimed, err := s.Claim(t.Context(), store.Claim{
		Owner: "me", Token: 1, Lease: time.Minute, Limit: 3, Lanes: []store.LaneLimit{{Lane: 1, Limit: 3}},
	})
	if err != nil || len(claimed) != 3 {
		t.Fatal(claimed, err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // nothing was written
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select from millrace.runs where id = $1 for update", claimed[1].RunID); err != nil {
		t.Fatal(err)
	}
	var settlements []store.Settlement
	for i := range claimed {
		settlements = append(settlements, benchOutcome(&claimed[i], standing, false, store.HandOver{}))
	}
	type answer struct {
		out []store.Settled
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		out, err := s.Settle(t.Context(), settlements)
		answers <- answer{out, err}
	}()
	for ended := 0; ended < 2; { // until the others are there for everybody
		select {
		case early := <-answers:
			t.Fatalf("answered while a run was held: %+v, %v", early.out, early.err)
		default:
		}
		if err := conn.QueryRow(t.Context(), "select count(*) from millrace.runs where status = 'succeeded'").Scan(&ended); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	got := <-answers
	if got.err != nil {
		t.Fatal(got.err)
	}
	for i := range got.out {
		if got.out[i].Result != store.Won {
			t.Errorf("settlement %d: %+v", i, got.out[i])
		}
	}
}

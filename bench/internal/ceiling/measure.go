// Package ceiling writes what Millrace's storage plan writes, on SQLite and on PostgreSQL, as fast as this machine takes it, and
// nothing else: no machine, no expressions, no loops, no checks. What the engine reaches is given as a share of it. It is a
// measuring stick, not a model of code.
//
// The plan: a run's root document lies in the run's row; one row for a live task, deleted when it ends; one row for an entry
// of the journal; one transaction for a batch of outcomes, in which the next task of a run is handed over already claimed;
// compare-and-set on the run's version. SQLite: WAL, synchronous=FULL, one writer. PostgreSQL: a few loops, each batch one
// round trip from begin to commit.
//
// Nouns: a [Load] is how many runs of how many steps; a [Figure] is what one measurement gave; a writer is what the rows go
// through. The package imports nothing of Millrace.
package ceiling

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Load is how many runs of how many steps, and how many outcomes share a transaction.
type Load struct {
	Name  string
	Runs  int
	Steps int
	Batch int
	Limit int // stop after so many steps; 0: all
}

// Figure is what one measurement gave, per second.
type Figure struct {
	Starts float64
	Runs   float64
	Steps  float64
}

// task is a held task of a run: where the run stands.
type task struct {
	run     []byte
	path    string
	step    int
	version int64
	seq     int64
}

// startBatch is the number of runs in one transaction of starts.
const startBatch = 500

// Measure starts all runs in a new database with this name, drives them to their ends, and counts the rows.
func Measure(ctx context.Context, name string, w Load) (f Figure, err error) {
	db, err := open(ctx, name)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.close()) }()

	began := time.Now()
	for i := 0; i < w.Runs; i += startBatch {
		if err := db.start(min(startBatch, w.Runs-i)); err != nil {
			return f, err
		}
	}
	f.Starts = perSecond(w.Runs, began)

	began = time.Now()
	done, ended, err := drive(db, w)
	if err != nil {
		return f, err
	}
	f.Steps, f.Runs = perSecond(done, began), perSecond(ended, began)
	return f, verify(db, w, done, ended)
}

func perSecond(n int, began time.Time) float64 { return float64(n) / time.Since(began).Seconds() }

// drive settles what is held and claims what is free, in one transaction for each batch, until nothing is left.
func drive(db *writer, w Load) (done, ended int, err error) {
	var held []task
	for w.Limit == 0 || done < w.Limit {
		settled := 0
		held, settled, err = db.turn(held, w)
		if err != nil {
			return done, ended, err
		}
		if settled == 0 {
			return done, ended, nil
		}
		done += settled
		ended += settled - len(held)
	}
	return done, ended, nil
}

// verify compares the rows of a file with what was claimed to be done.
func verify(db *writer, w Load, done, ended int) error { return tally(w, done, ended, db.count) }

// tally compares what is counted with what was claimed to be done.
func tally(w Load, done, ended int, count func(query string) (int, error)) error {
	for _, c := range []struct {
		what, query string
		want        int
	}{
		{"entries of the journal", "select count(*) from journal", w.Runs + done},
		{"ended runs", "select count(*) from runs where finished_at is not null", ended},
		{"live tasks", "select count(*) from tasks", w.Runs - ended},
		{"versions", "select cast(coalesce(sum(state_version), 0) - count(*) as bigint) from runs", done},
	} {
		got, err := count(c.query)
		if err != nil {
			return err
		}
		if got != c.want {
			return fmt.Errorf("%s: %d, not %d: what was measured was not done", c.what, got, c.want)
		}
	}
	return nil
}

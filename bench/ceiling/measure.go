package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// workload is how many runs of how many steps, and how many outcomes share a transaction.
type workload struct {
	name  string
	runs  int
	steps int
	batch int
	limit int // stop after so many steps; 0: all
}

// figure is what one measurement gave, per second.
type figure struct {
	starts float64
	runs   float64
	steps  float64
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

// measure starts all runs, drives them to their ends, and counts the rows.
func measure(ctx context.Context, name string, w workload) (f figure, err error) {
	db, err := open(ctx, name)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.close()) }()

	began := time.Now()
	for i := 0; i < w.runs; i += startBatch {
		if err := db.start(min(startBatch, w.runs-i)); err != nil {
			return f, err
		}
	}
	f.starts = perSecond(w.runs, began)

	began = time.Now()
	done, ended, err := drive(db, w)
	if err != nil {
		return f, err
	}
	f.steps, f.runs = perSecond(done, began), perSecond(ended, began)
	return f, verify(db, w, done, ended)
}

func perSecond(n int, began time.Time) float64 { return float64(n) / time.Since(began).Seconds() }

// drive settles what is held and claims what is free, in one transaction for each batch, until nothing is left.
func drive(db *writer, w workload) (done, ended int, err error) {
	var held []task
	for w.limit == 0 || done < w.limit {
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

// verify compares the rows with what was claimed to be done.
func verify(db *writer, w workload, done, ended int) error {
	for _, c := range []struct {
		what, query string
		want        int
	}{
		{"entries of the journal", "select count(*) from journal", w.runs + done},
		{"ended runs", "select count(*) from runs where finished_at is not null", ended},
		{"live tasks", "select count(*) from tasks", w.runs - ended},
		{"versions", "select coalesce(sum(state_version), 0) - count(*) from runs", done},
	} {
		got, err := db.count(c.query)
		if err != nil {
			return err
		}
		if got != c.want {
			return fmt.Errorf("%s: %d, not %d: what was measured was not done", c.what, got, c.want)
		}
	}
	return nil
}

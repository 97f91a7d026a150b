package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestAMeasurementDoesWhatItCounts(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]workload{
		"one step":       {runs: 700, steps: 1, batch: 200},
		"a chain":        {runs: 30, steps: 5, batch: 7},
		"single commits": {runs: 20, steps: 2, batch: 1},
		"cut short":      {runs: 50, steps: 3, batch: 10, limit: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := measure(t.Context(), t.TempDir()+"/ceiling.db", w)
			if err != nil {
				t.Fatal(err)
			}
			if f.starts <= 0 || f.steps <= 0 {
				t.Errorf("figures: %+v", f)
			}
		})
	}
}

func TestVerifyFindsWorkThatWasNotDone(t *testing.T) {
	t.Parallel()
	w := workload{runs: 3, steps: 1, batch: 10}
	db, err := open(t.Context(), t.TempDir()+"/ceiling.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.start(w.runs); err != nil {
		t.Fatal(err)
	}
	if err := verify(db, w, 0, 0); err != nil {
		t.Errorf("nothing was done, as claimed: %v", err)
	}
	if err := verify(db, w, 3, 3); err == nil || !strings.Contains(err.Error(), "was not done") {
		t.Errorf("got %v", err)
	}
}

func TestTheCommandPrintsATable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-runs", "20", "-steps", "2", "-repeat", "2", "-folder", t.TempDir()}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.Contains(out.String(), "steps/s") {
		t.Errorf("table:\n%s", out.String())
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-batch", "0"}, {"-steps", "-1"}, {"-runs", "-1"}, {"more"}, {"-nope"}, {"-help"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

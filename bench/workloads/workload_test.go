package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

func TestAWorkloadDoesWhatItCounts(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]backlog{
		"one step":            {Shape: drive.Steps(1), runs: 120},
		"a sequence":          {Shape: drive.Steps(5), runs: 20},
		"a fork":              {Shape: drive.Fork(10), runs: 10},
		"a saga":              {Shape: drive.Saga(4), runs: 10},
		"after many that end": {Shape: drive.Steps(1), runs: 20, ended: 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			figures, err := w.measure(t.Context(), &place{folder: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if len(figures) == 0 || figures[0].value <= 0 {
				t.Errorf("figures: %v", figures)
			}
		})
	}
}

func TestGrowthIsComparedWithItsNeighbours(t *testing.T) {
	t.Parallel()
	few := backlog{Shape: drive.Steps(1), runs: 20}
	many := few
	many.ended = 100
	figures, err := beside(few, many)(t.Context(), &place{folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if last := figures[len(figures)-1]; last.name != "to W1 before and after" || last.value <= 0 {
		t.Errorf("figures: %v", figures)
	}
}

func TestWorkThatWasNotDoneIsFound(t *testing.T) {
	t.Parallel()
	w := backlog{Shape: drive.Steps(1), runs: 5}
	w.Entries = 3
	if _, err := w.measure(t.Context(), &place{folder: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "succeeded with 2 entries, not succeeded with 3") {
		t.Errorf("got %v", err)
	}
}

func TestMeasurementsAreLinesOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-only", "memory", "-repeat", "1", "-json", "-folder", t.TempDir()}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `{"workload":"memory","figure":"resident","value":`) {
		t.Errorf("got %s", out.String())
	}
}

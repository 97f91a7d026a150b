package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/pgcluster"
)

func TestEverySystemDoesWhatItCounts(t *testing.T) {
	t.Parallel()
	for _, s := range systems {
		for _, w := range workloads {
			if !w.fits(s) || w.many || w.name == "W9" {
				continue
			}
			t.Run(s.store+"/"+s.name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				r := request{System: s.name, Store: s.store, Workload: w.name, Target: target{Knobs: s.knobs}, Runs: 20}
				if w.ended {
					r.Ended = 50
				}
				if s.store == file {
					r.Target.Path = filepath.Join(t.TempDir(), "bench.db")
				} else {
					c := pgcluster.Shared(t)
					name := c.Database(t)
					r.Target.URL, r.Server = c.URL(name), server{URL: c.URL("postgres"), Database: name}
				}
				figures, err := r.measure(t.Context(), s.make(r.Target))
				if errors.Is(err, errCannot) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(figures) > 0 && figures[0].Value <= 0 {
					t.Errorf("figures: %v", figures)
				}
			})
		}
	}
}

func TestTheTableComparesWithinOneTurn(t *testing.T) {
	t.Parallel()
	r := results{about: []string{"a machine"}}
	for turn, v := range []float64{10, 30, 20} {
		for name, times := range map[string]float64{"millrace": 4, "ceiling": 8, "river": 1, "dbos": 2} {
			r.add(line{System: name, Store: postgres, Workload: "W1", Turn: turn, figure: figure{"runs", v * times, "/s"}})
		}
	}
	var table, chart bytes.Buffer
	if err := errors.Join(r.writeTable(&table), r.writeChart(&chart)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- a machine", "| W1, runs/s | 80 (40-120) | 160 (80-240) | 20 (10-30) | 40 (20-60) |",
		"| W1 to the best peer | 2 | - |", "| W1 to its ceiling | 0.5 | - |",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, table.String())
		}
	}
	if !strings.Contains(chart.String(), ">river, postgres</text>") {
		t.Errorf("chart:\n%s", chart.String())
	}
}

func TestGrowthIsComparedWithItsNeighbours(t *testing.T) {
	t.Parallel()
	var r results
	for turn, speed := range []float64{1, 2, 3} {
		for _, l := range []struct {
			workload string
			value    float64
		}{{"W1", 400}, {"W1 beside W5 ended", 90}, {"W5 ended", 100}, {"W1 beside W5 ended", 110}} {
			r.add(line{System: "millrace", Store: file, Workload: l.workload, Turn: turn, figure: figure{"runs", l.value * speed, "/s"}})
		}
	}
	var table bytes.Buffer
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	if want := "| W5 with ended runs to W1 | - | 1 |"; !strings.Contains(table.String(), want) {
		t.Errorf("%q is not in\n%s", want, table.String())
	}
}

func TestAPageGetsItsTable(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	r := results{about: []string{"a machine"}}
	if err := os.WriteFile(page, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.writePage(page); err == nil {
		t.Error("a page without a place was taken")
	}
	if err := os.WriteFile(page, []byte("before\n"+pageBegin+"\nold\n"+pageEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.writePage(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if text := string(got); err != nil || strings.Contains(text, "old") || !strings.HasPrefix(text, "before\n"+pageBegin+"\n\n- a machine") ||
		!strings.HasSuffix(text, pageEnd+"\nafter\n") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestNumbersHaveThreeDigitsThatCount(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.01234: "0.0123", 4: "4", 12.34: "12.3", 1234: "1,230", 45678: "45,700", 1234567: "1,230,000"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, not %s", v, got, want)
		}
	}
}

func TestTheTimesOfAProcessAreRead(t *testing.T) {
	t.Parallel()
	const stat = "42 (a (strange) name) S 7 42 42 0 -1 4194560 100 200 0 0 11 12 13 14 20 0 1 0 100 0 0"
	pid, parent, own, children := parseStat(stat)
	if pid != 42 || parent != 7 || own != 23 || children != 27 {
		t.Errorf("got %d %d %d %d", pid, parent, own, children)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-store", "redis"}, {"-repeat", "0"}, {"-scale", "0"}, {"more"}, {"-set", "river=3"}, {"-set", "river.nothing=3"}} {
		var o options
		if err := o.parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

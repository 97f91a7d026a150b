package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/chaos/internal/lease"
	"github.com/millrace-go/millrace/internal/chaos/internal/load"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// judge examines everything that is left when all processes have ended.
func (s *stage) judge(ctx context.Context) error {
	runs, err := s.runs(ctx)
	if err != nil {
		return err
	}
	if err := s.accepted(runs); err != nil {
		return err
	}
	if err := s.examine(ctx, runs); err != nil {
		return err
	}
	doctor, err := millrace.NewClient(s.store).Doctor(ctx, millrace.DoctorOptions{Tenant: millrace.DefaultTenant})
	if err != nil {
		return err
	}
	for _, f := range doctor.Findings {
		s.report.wrong(fmt.Sprintf("doctor: run %s: %s: %s", f.Run, f.Check, f.Message))
	}
	if err := s.histories(); err != nil {
		return err
	}
	s.report.measure()
	if most := s.Outage + s.Patience; s.report.Stall > most {
		s.report.wrong(fmt.Sprintf("nothing went on for %v, want %v at most", round(s.report.Stall), most))
	}
	if most := s.Outage + 5*s.Patience; s.report.Slowest > most { // one run may be hit by many faults, one after the other
		s.report.wrong(fmt.Sprintf("a start took %v, want %v at most", round(s.report.Slowest), most))
	}
	return s.logs()
}

// runs reads all runs there are.
func (s *stage) runs(ctx context.Context) (all []store.RunRow, err error) {
	f := store.Filter{Tenant: millrace.DefaultTenant, Limit: 1000}
	for {
		rows, err := s.store.Runs(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < f.Limit {
			return all, nil
		}
		f.Before = rows[len(rows)-1].ID
	}
}

// accepted checks that every run which was accepted is there, once, and that no run is there which nobody asked for.
func (s *stage) accepted(runs []store.RunRow) error {
	all, err := load.ReadAccepted(s.Folder)
	if err != nil {
		return err
	}
	byKey := map[string]string{}
	for i := range runs {
		r := &runs[i]
		if other, twice := byKey[r.Key]; twice {
			s.report.wrong(fmt.Sprintf("runs %s and %s have the key %q", other, r.ID, r.Key))
		}
		byKey[r.Key] = r.ID
	}
	for _, a := range all {
		c := load.Draw(s.Seed, a.Case)
		if byKey[c.Key] != a.Run {
			s.report.wrong(fmt.Sprintf("%s was accepted as run %s; there is %q", c.Key, a.Run, byKey[c.Key]))
		}
		if took := time.Duration(a.Took) * time.Millisecond; took > s.report.Slowest {
			s.report.Slowest = took
			s.Log("%6.1fs a start took %v, in %d tries", time.UnixMilli(a.At).Sub(s.report.broke).Seconds(), round(took), a.Tries)
		}
	}
	return nil
}

// examine judges each run by its case.
func (s *stage) examine(ctx context.Context, runs []store.RunRow) error {
	lines, err := fleet.ReadLedger(s.Folder)
	if err != nil {
		return err
	}
	ledger := map[string][]fleet.Line{}
	for _, l := range lines {
		ledger[l.RunID] = append(ledger[l.RunID], l)
	}
	client := millrace.NewClient(s.store)
	rows := make(chan *store.RunRow)
	errs := make([]error, 3)
	var work sync.WaitGroup
	for i := range errs {
		work.Go(func() {
			for row := range rows {
				if errs[i] == nil {
					errs[i] = s.one(ctx, client, row, ledger[row.ID])
				}
			}
		})
	}
	there := map[string]bool{}
	for i := range runs {
		there[runs[i].ID] = true
		rows <- &runs[i]
	}
	close(rows)
	work.Wait()
	for run := range ledger {
		if !there[run] {
			s.report.wrong(fmt.Sprintf("handlers were called for run %s, which is not there", run))
		}
	}
	return errors.Join(errs...)
}

func (s *stage) one(ctx context.Context, client *millrace.Client, row *store.RunRow, ledger []fleet.Line) error {
	number, _ := strconv.Atoi(strings.TrimPrefix(row.Key, "case-")) // else it is not the key of the case that is drawn
	c := load.Draw(s.Seed, number)
	if c.Key != row.Key || c.Workflow != row.Workflow {
		s.report.wrong(fmt.Sprintf("run %s of %s has the key %q, which nobody asked for", row.ID, row.Workflow, row.Key))
		return nil
	}
	view, err := client.Show(ctx, row.Tenant, row.ID, millrace.ShowOptions{Steps: 1})
	if err != nil {
		return err
	}
	seen := load.Seen{Status: row.Status, Output: view.Output, Ledger: ledger}
	for {
		page, err := client.Journal(ctx, row.Tenant, row.ID, int64(len(seen.Journal)), 1000)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		seen.Journal = append(seen.Journal, page...)
	}
	s.count(row, &seen)
	for _, wrong := range load.Judge(&c, &seen) {
		s.report.wrong(fmt.Sprintf("run %s (%s %s): %s", row.ID, c.Workflow, c.Key, wrong))
	}
	return nil
}

// count adds a run to the figures.
func (s *stage) count(row *store.RunRow, seen *load.Seen) {
	r := s.report
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Runs++
	r.Ended[row.Status]++
	for i := range seen.Journal {
		e := &seen.Journal[i]
		switch e.Kind {
		case machine.TaskSucceeded:
			r.Steps++
			r.steps = append(r.steps, e.At)
		case machine.TaskFailed:
		case machine.TaskLost:
			r.Lost++
		case machine.TaskReleased:
			r.Released++
		case machine.TaskLate:
			r.Late++
			continue
		case machine.RedriveRequested:
			r.Redriven++
			continue
		default:
			continue
		}
		r.Attempts++
	}
	done := map[string]bool{}
	for i := range seen.Ledger {
		if l := &seen.Ledger[i]; l.What == fleet.Succeeded {
			if done[l.Path] {
				r.Again++
			}
			done[l.Path] = true
		}
	}
}

// histories has the model explain what the store answered.
func (s *stage) histories() error {
	h, err := lease.Read(s.Folder)
	if err != nil {
		return err
	}
	v := h.Check(5 * time.Minute)
	s.report.Calls, s.report.Unanswered, s.report.Operations = h.Calls, h.Lost, v.Operations
	for _, wrong := range v.Wrong {
		s.report.wrong("history: " + wrong)
	}
	for _, run := range v.Undecided {
		s.report.wrong("history: run " + run + ": the time did not suffice to explain it")
	}
	return nil
}

// logs looks for what processes say of themselves when something is very wrong.
func (s *stage) logs() error {
	files, err := filepath.Glob(filepath.Join(s.Folder, "*.log"))
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, bad := range []string{"DATA RACE", "panic:", "fatal error:", "is damaged"} {
			if at := bytes.Index(text, []byte(bad)); at >= 0 {
				s.report.wrong(fmt.Sprintf("%s: %s", filepath.Base(name), text[at:min(len(text), at+2000)]))
			}
		}
	}
	return nil
}

package millrace

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/doctor"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// DoctorOptions say what to examine.
type DoctorOptions struct {
	Tenant string
	Run    string // "": all runs of the tenant
}

// Finding is something that is wrong with a run.
type Finding struct {
	Run      string `json:"run"`
	Check    string `json:"check"`    // "definition", "journal", "documents", "state", "tasks", "timers", "letters", "values" or "ended"
	Message  string `json:"message"`  // what is wrong, in words
	Mendable bool   `json:"mendable"` // Repair can do something about it
	Remedy   string `json:"remedy"`   // what to do about it
}

// DoctorReport is what an examination found.
type DoctorReport struct {
	Runs     int       `json:"runs"`     // that were examined
	Changing int       `json:"changing"` // of those, how many changed too fast for a whole look
	Findings []Finding `json:"findings"`
}

// Doctor examines runs of a live database against the invariants that every run keeps: the journal is whole and replaying it
// gives what is stored; tasks, timers and letters agree with it; ended runs have nothing live. It only reads, in bounded
// pages. Errors: ErrNotFound for a run that does not exist; others are the store's.
func (c *Client) Doctor(ctx context.Context, o DoctorOptions) (DoctorReport, error) {
	x := examination{doctor: c.doctor(), report: DoctorReport{Findings: []Finding{}}}
	if o.Run != "" {
		row, err := x.doctor.Row(ctx, o.Tenant, o.Run)
		if err != nil {
			return x.report, err
		}
		return x.report, x.page(ctx, []store.RunRow{row})
	}
	f := store.Filter{Tenant: o.Tenant, Limit: doctorPage}
	for {
		rows, err := c.st.Runs(ctx, f)
		if err != nil {
			return x.report, fmt.Errorf("list runs: %w", err)
		}
		if err := x.page(ctx, rows); err != nil || len(rows) < doctorPage {
			return x.report, err
		}
		f.Before = rows[len(rows)-1].ID
	}
}

const doctorPage = 100 // runs that are listed at once

// examination is a look at many runs.
type examination struct {
	doctor *doctor.Doctor
	report DoctorReport
}

func (x *examination) page(ctx context.Context, rows []store.RunRow) error {
	strays, err := x.doctor.Strays(ctx, rows)
	if err != nil {
		return err
	}
	x.add(strays)
	for i := range rows {
		found, whole, err := x.doctor.Examine(ctx, &rows[i])
		if err != nil {
			return fmt.Errorf("examine run %s: %w", rows[i].ID, err)
		}
		x.report.Runs++
		if !whole {
			x.report.Changing++
		}
		x.add(found)
	}
	return nil
}

func (x *examination) add(found []doctor.Finding) {
	for _, f := range found {
		remedy := "millrace doctor --repair " + f.Run
		if !f.Mendable {
			remedy = "nothing can be done from here: keep the database, and report it"
		}
		x.report.Findings = append(x.report.Findings, Finding{
			Run: f.Run, Check: string(f.Check), Message: f.Message, Mendable: f.Mendable, Remedy: remedy,
		})
	}
}

func (c *Client) doctor() *doctor.Doctor {
	return &doctor.Doctor{Store: c.st, Definition: func(ctx context.Context, h machine.Header) (*workflow.Definition, error) {
		return c.defs.get(ctx, h.Tenant, h.Workflow, h.Version)
	}}
}

// RepairReport says what a repair changed.
type RepairReport struct {
	Run       string   `json:"run"`
	Changed   bool     `json:"changed"`   // false: there was nothing that a repair can do
	Documents []string `json:"documents"` // paths of those that were written anew or removed, "" for the root's
	Tasks     []string `json:"tasks"`     // paths of those that were started anew or removed
	Timers    []string `json:"timers"`    // keys of those that were set or removed
	Letters   []string `json:"letters"`   // kinds and paths of the dead letters that were opened or closed
	Values    []string `json:"values"`    // names of computed values that were stored again
}

// Repair rebuilds the documents of a run by replaying its journal, and starts and removes tasks, timers and dead letters until
// they agree with it, in one transaction, while everything else goes on. Errors: ErrNotFound, and one that is ErrDamaged and
// says where the journal itself, or the definition, is damaged: then nothing is changed.
func (c *Client) Repair(ctx context.Context, tenant, run string) (RepairReport, error) {
	done, err := c.doctor().Repair(ctx, tenant, run)
	out := RepairReport{Run: run, Documents: []string{}, Tasks: []string{}, Timers: []string{}, Letters: []string{}, Values: []string{}}
	if err != nil || done == nil {
		return out, err
	}
	out.Changed = true
	out.Documents, out.Tasks, out.Timers = orEmpty(done.Documents), orEmpty(done.Tasks), orEmpty(done.Timers)
	out.Letters, out.Values = orEmpty(done.Letters), orEmpty(done.Values)
	return out, nil
}

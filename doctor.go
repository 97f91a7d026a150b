package millrace

import (
	"context"
	"fmt"
)

// DoctorOptions say what to examine.
type DoctorOptions struct {
	Tenant string
	Run    string // "": all runs of the tenant
}

// Finding is something that is wrong with a run.
type Finding struct {
	Run     string `json:"run"`
	Check   string `json:"check"`   // "journal", "replay", "state", "tasks", "timers", "letters", "ended", "definition"
	Message string `json:"message"` // what is wrong, in words
	Remedy  string `json:"remedy"`  // what to do about it
}

// DoctorReport is what an examination found.
type DoctorReport struct {
	Runs     int       `json:"runs"`     // that were examined
	Changing int       `json:"changing"` // of those, how many changed too fast for a whole look
	Findings []Finding `json:"findings"`
}

// Doctor examines runs of a live database against the invariants that every run keeps: the journal is whole and replaying it
// gives what is stored; tasks, timers and letters agree with it; ended runs have nothing live. It only reads, in bounded
// pages. Errors: ErrNotFound for a run that does not exist.
func (c *Client) Doctor(ctx context.Context, o DoctorOptions) (DoctorReport, error) {
	return DoctorReport{}, fmt.Errorf("examine the runs of %s: %w", o.Tenant, errNotYet)
}

// RepairReport says what a repair changed.
type RepairReport struct {
	Run       string   `json:"run"`
	Changed   bool     `json:"changed"`   // false: nothing was wrong
	Documents []string `json:"documents"` // paths of those that were written anew or removed, "" for the root's
	Tasks     []string `json:"tasks"`     // paths of those that were started anew or removed
	Timers    []string `json:"timers"`    // keys of those that were set or removed
}

// Repair rebuilds the documents of a run by replaying its journal, and starts and removes tasks and timers until they agree
// with it. Errors: ErrNotFound, and one that says where the journal itself is damaged: then nothing is changed.
func (c *Client) Repair(ctx context.Context, tenant, run string) (RepairReport, error) {
	return RepairReport{}, fmt.Errorf("repair run %s: %w", run, errNotYet)
}

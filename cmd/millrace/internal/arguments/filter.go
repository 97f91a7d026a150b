package arguments

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Filter is which runs are meant. Its zero value means all.
type Filter struct {
	workflow, key, since, until, failedAt, code string
	labels                                      Labels
	status                                      []string
	limit, unsaid                               int
}

// Add adds the flags; limit is how many runs are meant when the command line does not say, 0 for all.
func (f *Filter) Add(c *cobra.Command, limit int) {
	c.Flags().StringVar(&f.workflow, "workflow", "", "only runs of this `WORKFLOW`")
	c.Flags().StringVar(&f.key, "key", "", "only runs with this `KEY`")
	c.Flags().StringSliceVar(&f.status, "status", nil, "only runs of these statuses, `STATUS,..`, such as running or failed,succeeded")
	f.labels.Add(c, "only runs with this label, `NAME=VALUE`; several times: with all of them")
	c.Flags().StringVar(&f.failedAt, "failed-at", "", "only runs that failed at this `STEP`")
	c.Flags().StringVar(&f.code, "code", "", "only runs that failed with this error `CODE`")
	c.Flags().StringVar(&f.since, "since", "", "created at or after a `TIME` (RFC 3339) or so long ago (90m, 7d)")
	c.Flags().StringVar(&f.until, "until", "", "created before a `TIME`, or so long ago")
	c.Flags().IntVar(&f.limit, "limit", limit, "at most `N`, the newest")
	f.unsaid = limit
}

// names are the flags by which runs are chosen; limit alone chooses none.
var names = []string{"workflow", "key", "status", "label", "failed-at", "code", "since", "until"}

// Given says whether the command line of c chooses runs, or letters, by anything but their names.
func Given(c *cobra.Command) bool {
	return slices.ContainsFunc(names, c.Flags().Changed) || c.Flags().Changed("kind") || c.Flags().Changed("run")
}

var statuses, endings = words(machine.Statuses()), words(machine.Endings())

func words(statuses []machine.Status) []string {
	out := make([]string, len(statuses))
	for i, s := range statuses {
		out[i] = string(s)
	}
	return out
}

// Build gives the filter, without a tenant. Where no status was named, otherwise are the statuses that are meant; none: all.
func (f *Filter) Build(now time.Time, otherwise ...machine.Status) (store.Filter, error) {
	out := store.Filter{
		Workflow: f.workflow, Key: f.key, FailedAt: f.failedAt, Code: f.code, Limit: f.limit, Status: otherwise,
	}
	if err := checkLimit(f.limit, f.unsaid); err != nil {
		return out, err
	}
	var err error
	if len(f.status) > 0 {
		if out.Status, err = f.statuses(); err != nil {
			return out, err
		}
	}
	if out.Labels, err = f.labels.Build(); err != nil {
		return out, err
	}
	if out.Since, err = Moment("--since", f.since, now); err != nil {
		return out, err
	}
	out.Until, err = Moment("--until", f.until, now)
	return out, err
}

const mostListed = 10_000

func checkLimit(limit, unsaid int) error {
	if limit != unsaid && (limit < 1 || limit > mostListed) {
		return mistake("write a number from 1 to 10000", "--limit %d is out of range", limit)
	}
	return nil
}

func (f *Filter) statuses() ([]machine.Status, error) {
	out := make([]machine.Status, 0, len(f.status))
	for _, s := range f.status {
		if !slices.Contains(statuses, s) {
			return nil, mistake(suggest.DidYouMean(s, statuses, "statuses are "+strings.Join(statuses, ", ")), "there is no status %q", s)
		}
		out = append(out, machine.Status(s))
	}
	return out, nil
}

// OfRuns says whether the filter asks for something that only the run of a letter tells.
func (f *Filter) OfRuns() bool { return f.key != "" || len(f.status) > 0 || len(f.labels.values) > 0 }

// LetterFilter is which dead letters are meant. Its zero value means all that are open.
type LetterFilter struct {
	Filter
	Run  string // as it was written
	kind string
}

// Add adds the flags.
func (f *LetterFilter) Add(c *cobra.Command, limit int) {
	f.Filter.Add(c, limit)
	c.Flags().StringVar(&f.Run, "run", "", "only letters of this `RUN`")
	c.Flags().StringVar(&f.kind, "kind", "", "only letters of this `KIND`: failure, parked, compensation, outcome_unknown or finally")
	for name, about := range map[string]string{
		"workflow":  "only letters of runs of this `WORKFLOW`",
		"key":       "only letters of runs with this `KEY`",
		"status":    "only letters of runs of these statuses, `STATUS,..`, such as dead or parked",
		"label":     "only letters of runs with this label, `NAME=VALUE`; several times: with all of them",
		"failed-at": "only letters about a failure at this `STEP`",
		"code":      "only letters about a failure with this error `CODE`",
		"since":     "opened at or after a `TIME` (RFC 3339) or so long ago (90m, 7d)",
		"until":     "opened before a `TIME`, or so long ago",
	} {
		c.Flags().Lookup(name).Usage = about
	}
}

var kinds = []string{
	string(machine.LetterFailure), string(machine.LetterParked), string(machine.LetterCompensation), string(machine.LetterUnknown),
	string(machine.LetterFinally),
}

// Build gives the filter of letters, and that of their runs (which matters when OfRuns says so), both without a tenant.
func (f *LetterFilter) Build(now time.Time) (store.LetterFilter, store.Filter, error) {
	runs, err := f.Filter.Build(now)
	if err != nil {
		return store.LetterFilter{}, runs, err
	}
	if f.kind != "" && !slices.Contains(kinds, f.kind) {
		return store.LetterFilter{}, runs, mistake(suggest.DidYouMean(f.kind, kinds, "kinds are "+strings.Join(kinds, ", ")), "there is no kind %q", f.kind)
	}
	letters := store.LetterFilter{
		Workflow: f.workflow, Kind: machine.LetterKind(f.kind), Code: f.code, FailedAt: f.failedAt,
		Since: runs.Since, Until: runs.Until, Limit: f.limit,
	}
	// What is said of the failure and of the times is said of the letters.
	runs.Code, runs.FailedAt, runs.Since, runs.Until, runs.Limit = "", "", 0, 0, 0
	return letters, runs, nil
}

package millrace

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/store"
)

// ErrAmbiguous is an ending of an id that several runs share; see AmbiguousError.
var ErrAmbiguous = errors.New("ambiguous")

// AmbiguousError names the runs whose ids have the ending that was asked for.
type AmbiguousError struct {
	Ref string
	IDs []string // newest first; the first few
}

// Error names the runs.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("several runs end in %q: %s", e.Ref, strings.Join(e.IDs, ", "))
}

// Is makes errors.Is(err, ErrAmbiguous) true.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// missing is ErrNotFound in words that say it all.
type missing string

// Error gives the words.
func (m missing) Error() string { return string(m) }

// Is makes errors.Is(err, ErrNotFound) true.
func (m missing) Is(target error) bool { return target == ErrNotFound }

// minEnding is how many characters of an id's end are enough to look for it.
const minEnding = 4

// Find gives the id of the run that ref names: an id, an ending of one (4 characters or more) that no other run of the tenant
// shares, WORKFLOW/KEY, or @last for the newest; an empty ref is @last too. The error is ErrNotFound or *AmbiguousError.
func (c *Client) Find(ctx context.Context, tenant, ref string) (string, error) {
	switch {
	case ref == "" || ref == "@last":
		rows, err := c.st.Runs(ctx, store.Filter{Tenant: tenant, Limit: 1})
		if err != nil {
			return "", fmt.Errorf("find the newest run: %w", err)
		}
		if len(rows) == 0 {
			return "", missing("there is no run yet")
		}
		return rows[0].ID, nil
	case strings.Contains(ref, "/"):
		return c.findKey(ctx, tenant, ref)
	default:
		return c.findEnding(ctx, tenant, ref)
	}
}

// findKey tries every slash, since names and keys may hold some.
func (c *Client) findKey(ctx context.Context, tenant, ref string) (string, error) {
	for i, r := range ref {
		if r != '/' {
			continue
		}
		rows, err := c.st.Runs(ctx, store.Filter{Tenant: tenant, Workflow: ref[:i], Key: ref[i+1:], Limit: 1})
		if err != nil {
			return "", fmt.Errorf("find run %s: %w", ref, err)
		}
		if len(rows) > 0 && rows[0].Key == ref[i+1:] && rows[0].Key != "" {
			return rows[0].ID, nil
		}
	}
	return "", missing("no run has the workflow and key " + ref)
}

func (c *Client) findEnding(ctx context.Context, tenant, ref string) (string, error) {
	ending := strings.ToLower(strings.ReplaceAll(ref, "-", ""))
	if strings.Trim(ending, "0123456789abcdef") != "" || len(ending) > 32 {
		return "", missing(strconv.Quote(ref) + " is not a run's id, nor the end of one")
	}
	if len(ending) < minEnding {
		return "", missing(fmt.Sprintf("%q is too short: at least %d characters of an id's end are needed", ref, minEnding))
	}
	rows, err := c.st.Runs(ctx, store.Filter{Tenant: tenant, IDSuffix: ending, Limit: 5})
	if err != nil {
		return "", fmt.Errorf("find run %s: %w", ref, err)
	}
	switch len(rows) {
	case 0:
		return "", missing("no run's id ends in " + ref)
	case 1:
		return rows[0].ID, nil
	}
	e := &AmbiguousError{Ref: ref}
	for _, r := range rows {
		e.IDs = append(e.IDs, r.ID)
	}
	return "", e
}

// Run gives a run as it stands in a list. A run of another tenant is ErrNotFound.
func (c *Client) Run(ctx context.Context, tenant, id string) (RunSummary, error) {
	state, err := c.st.State(ctx, tenant, id, nil, nil)
	if err != nil {
		return RunSummary{}, fmt.Errorf("run %s: %w", id, err)
	}
	r := state.Run
	s := RunSummary{
		ID: r.ID, Workflow: r.Workflow, Version: r.Version, Key: r.Key, Status: r.Status, Labels: orNoLabels(r.Options.Labels),
		CreatedAt: moment(r.CreatedAt), StartedAt: moment(r.StartedAt), FinishedAt: moment(r.FinishedAt),
	}
	if r.Status.Ended() && r.Root.Run != nil {
		s.Error = r.Root.Run.Error
	}
	return s, nil
}

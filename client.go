package millrace

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Client looks at runs and says what is to become of them: it lists, finds and shows them, cancels, pauses and retries them,
// and executes nothing. It is safe for concurrent use.
type Client struct {
	st     store.Store
	defs   definitions
	teller *engine.Engine // tells runs what people ask of them
}

// NewClient gives a client at st, which stays the caller's to close.
func NewClient(st store.Store) *Client { return newClient(st, engine.Idle(st)) }

// Client gives a client at the engine's store. What it does to a run, the attempts that this engine holds hear at once.
func (e *Engine) Client() *Client { return newClient(e.st, e.inner) }

func newClient(st store.Store, teller *engine.Engine) *Client {
	return &Client{st: st, defs: definitions{st: st}, teller: teller}
}

// RunSummary is a run in a list.
type RunSummary struct {
	ID         string            `json:"id"`
	Workflow   string            `json:"workflow"`
	Version    int               `json:"version"`
	Key        string            `json:"key"`
	Status     machine.Status    `json:"status"`
	Labels     map[string]string `json:"labels"`
	Error      *machine.Error    `json:"error"`
	CreatedAt  *time.Time        `json:"created_at"`
	StartedAt  *time.Time        `json:"started_at"`
	FinishedAt *time.Time        `json:"finished_at"`
}

// Runs lists runs, newest first, at most f.Limit (100 when zero). next is what the next page's f.Before must be; it is empty
// on the last page. f.Tenant must be set.
func (c *Client) Runs(ctx context.Context, f store.Filter) (runs []RunSummary, next string, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	f.Limit = limit + 1
	rows, err := c.st.Runs(ctx, f)
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	if len(rows) > limit {
		rows, next = rows[:limit], rows[limit-1].ID
	}
	runs = make([]RunSummary, 0, len(rows))
	for _, r := range rows {
		runs = append(runs, RunSummary{
			ID: r.ID, Workflow: r.Workflow, Version: r.Version, Key: r.Key, Status: r.Status, Error: r.Error, Labels: orNoLabels(r.Options.Labels),
			CreatedAt: moment(r.CreatedAt), StartedAt: moment(r.StartedAt), FinishedAt: moment(r.FinishedAt),
		})
	}
	return runs, next, nil
}

// JournalEntry is one entry of a run's journal: an event that was applied.
type JournalEntry struct {
	Seq     int64             `json:"seq"`
	At      time.Time         `json:"at"`
	Kind    machine.EventKind `json:"kind"`
	Path    string            `json:"path,omitempty"`
	Name    string            `json:"name,omitempty"`
	Key     string            `json:"key,omitempty"`
	Attempt int               `json:"attempt,omitempty"`
	Cause   int64             `json:"cause,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
	Facts   json.RawMessage   `json:"facts,omitempty"`
}

// Journal gives the entries of a run after the number after, in order, at most limit. An empty answer means that the journal
// has no more entries yet. A run of another tenant is ErrNotFound.
func (c *Client) Journal(ctx context.Context, tenant, id string, after int64, limit int) ([]JournalEntry, error) {
	rows, err := c.st.Journal(ctx, tenant, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("journal of run %s: %w", id, err)
	}
	out := make([]JournalEntry, 0, len(rows))
	for _, e := range rows {
		out = append(out, JournalEntry{
			Seq: e.Seq, At: e.At.Std(), Kind: e.Kind, Path: e.Path, Name: e.Name, Key: e.Key,
			Attempt: e.Attempt, Cause: e.Cause, Payload: e.Payload, Facts: e.Facts,
		})
	}
	return out, nil
}

func orNoLabels(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// moment gives t for people, nil when it never was.
func moment(t machine.Time) *time.Time {
	if t == 0 {
		return nil
	}
	std := t.Std()
	return &std
}

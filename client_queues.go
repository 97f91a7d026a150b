package millrace

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// QueueDepth is how much lies in a queue for one handler and one workflow.
type QueueDepth struct {
	Queue    string     `json:"queue"`
	Handler  string     `json:"handler"`
	Workflow string     `json:"workflow"`
	Paused   bool       `json:"paused"`
	Ready    int        `json:"ready"`
	Delayed  int        `json:"delayed"`
	Running  int        `json:"running"`
	Held     int        `json:"held"`      // of paused runs
	OldestAt *time.Time `json:"oldest_at"` // when the oldest ready task became ready; nil: none is
	ServedBy []string   `json:"served_by"` // live processes that serve the handler, by name
}

// ProcessView is a process that works at the store.
type ProcessView struct {
	Name     string     `json:"name"`
	Host     string     `json:"host"`
	PID      int        `json:"pid"`
	Serves   []string   `json:"serves"` // handlers
	Draining bool       `json:"draining"`
	Live     bool       `json:"live"` // it was heard of lately
	SeenAt   *time.Time `json:"seen_at"`
}

// silence is how long after its last sign of life a process counts as dead: processes give one every ten seconds.
const silence = 45 * time.Second

// Queues gives the depth of all queues of a tenant that hold something, and the processes that are at work, those that died
// lately included.
func (c *Client) Queues(ctx context.Context, tenant string) ([]QueueDepth, []ProcessView, error) {
	processes, err := c.processes(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows, err := c.st.Queues(ctx, tenant)
	if err != nil {
		return nil, nil, fmt.Errorf("read queues: %w", err)
	}
	out := make([]QueueDepth, 0, len(rows))
	for _, d := range rows {
		q := QueueDepth{
			Queue: d.Queue, Handler: d.Handler, Workflow: d.Workflow, Paused: d.Paused,
			Ready: d.Ready, Delayed: d.Delayed, Running: d.Leased, Held: d.Held, OldestAt: moment(d.Oldest), ServedBy: []string{},
		}
		for _, p := range processes {
			if p.serves(d.Handler) {
				q.ServedBy = append(q.ServedBy, p.Name)
			}
		}
		out = append(out, q)
	}
	return out, processes, nil
}

// Serves says whether a live process takes tasks for a handler.
func (c *Client) Serves(ctx context.Context, handler string) (bool, error) {
	processes, err := c.processes(ctx)
	return slices.ContainsFunc(processes, func(p ProcessView) bool { return p.serves(handler) }), err
}

func (p *ProcessView) serves(handler string) bool {
	return p.Live && !p.Draining && slices.Contains(p.Serves, handler)
}

func (c *Client) processes(ctx context.Context) ([]ProcessView, error) {
	now, err := c.st.Clock(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	rows, err := c.st.Processes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read processes: %w", err)
	}
	out := make([]ProcessView, 0, len(rows))
	for _, p := range rows {
		out = append(out, ProcessView{
			Name: p.Owner, Host: p.Host, PID: p.PID, Serves: orEmpty(p.Serves), Draining: p.Draining,
			Live: now.Std().Sub(p.BeatAt.Std()) < silence, SeenAt: moment(p.BeatAt),
		})
	}
	return out, nil
}

// WorkflowView is a registered workflow, in its newest version.
type WorkflowView struct {
	Name      string     `json:"name"`
	Version   int        `json:"version"`
	Title     string     `json:"title"`
	Steps     int        `json:"steps"`
	CreatedAt *time.Time `json:"created_at"`
}

// Workflows lists the workflows of a tenant by name, each in its newest version. One whose document cannot be read has no
// title and no steps.
func (c *Client) Workflows(ctx context.Context, tenant string) ([]WorkflowView, error) {
	rows, err := c.st.Workflows(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	out := make([]WorkflowView, 0, len(rows))
	for _, w := range rows {
		v := WorkflowView{Name: w.Name, Version: w.Version, CreatedAt: moment(w.CreatedAt)}
		if def, err := c.defs.get(ctx, tenant, w.Name, w.Version); err == nil {
			v.Title, v.Steps = def.Title, len(def.Steps)
		}
		out = append(out, v)
	}
	return out, nil
}

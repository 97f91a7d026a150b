package millrace

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/store"
)

// Supply names a supply of tasks of a tenant that can be paused as a whole: no task of it is claimed or handed over until it
// is resumed, whatever run it belongs to. Runs keep their statuses, and attempts under way may finish.
type Supply struct {
	Kind string // "workflow", "queue" or "tenant"
	Name string // of the workflow or queue; "" for the tenant
}

// PausedSupply is a supply that is paused: since when, by whom and why.
type PausedSupply struct {
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	By       string     `json:"by"`
	Reason   string     `json:"reason"`
	PausedAt *time.Time `json:"paused_at"`
}

// PauseSupply pauses a workflow, a queue or a tenant as a whole. changed is false when it was paused already: then who and why
// stay those of the first. A workflow that is not registered is ErrNotFound; a queue need not hold anything yet.
func (c *Client) PauseSupply(ctx context.Context, tenant string, s Supply, o Order) (changed bool, err error) {
	p, err := s.pause(tenant)
	if err != nil {
		return false, err
	}
	if p.Kind == store.PauseWorkflow {
		if _, err := c.st.Workflow(ctx, tenant, s.Name, 0); err != nil {
			return false, fmt.Errorf("pause workflow %s: %w", s.Name, err)
		}
	}
	p.By, p.Reason = engine.Clean(o.By), engine.Clean(o.Reason)
	if changed, err = c.st.Pause(ctx, p); err != nil {
		return false, fmt.Errorf("pause %s %s: %w", s.Kind, s.Name, err)
	}
	return changed, nil
}

// ResumeSupply lifts the pause of a workflow, a queue or a tenant; who asks is not recorded. changed is false when it was not
// paused. What another pause covers stays paused.
func (c *Client) ResumeSupply(ctx context.Context, tenant string, s Supply, _ Order) (changed bool, err error) {
	p, err := s.pause(tenant)
	if err != nil {
		return false, err
	}
	if changed, err = c.st.Unpause(ctx, p.Tenant, p.Kind, p.Name); err != nil {
		return false, fmt.Errorf("resume %s %s: %w", s.Kind, s.Name, err)
	}
	return changed, nil
}

// Pauses lists the supplies of a tenant that are paused, by kind and name.
func (c *Client) Pauses(ctx context.Context, tenant string) ([]PausedSupply, error) {
	rows, err := c.st.Pauses(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list what is paused: %w", err)
	}
	out := make([]PausedSupply, 0, len(rows))
	for _, p := range rows {
		out = append(out, PausedSupply{Kind: string(p.Kind), Name: p.Name, By: p.By, Reason: p.Reason, PausedAt: moment(p.At)})
	}
	return out, nil
}

// pause gives the store's name of a supply.
func (s Supply) pause(tenant string) (store.Pause, error) {
	p := store.Pause{Tenant: tenant, Kind: store.PauseKind(s.Kind), Name: s.Name}
	switch p.Kind {
	case store.PauseWorkflow, store.PauseQueue:
		if s.Name == "" {
			return p, fmt.Errorf("the %s that is meant has no name", s.Kind)
		}
		return p, nil
	case store.PauseTenant:
		if s.Name != "" && s.Name != tenant {
			return p, fmt.Errorf("tenant %s cannot be named by tenant %s: %w", s.Name, tenant, ErrNotFound)
		}
		p.Name = ""
		return p, nil
	}
	return p, fmt.Errorf("%q is nothing that can be paused as a whole: workflow, queue or tenant", s.Kind)
}

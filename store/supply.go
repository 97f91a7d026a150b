package store

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/machine"
)

// Supply is how operators keep tasks from being claimed, without touching a task or a run. A lane is Paused while any pause
// covers it, whenever it is made; what is held goes on, and what is started there waits.
type Supply interface {
	// Pause sets p, whose At becomes the store's time, and flags the lanes that it covers. changed is false when it was set
	// already: By, Reason and At stay those of the first. ErrRefused: a kind that is unknown, or a text that no store keeps.
	// Whether there is such a workflow or queue is not asked.
	Pause(ctx context.Context, p Pause) (changed bool, err error)
	// Unpause ends a pause, frees the lanes that no other covers, and wakes who watches. changed is false when it was not set.
	Unpause(ctx context.Context, tenant string, kind PauseKind, name string) (changed bool, err error)
	// Pauses lists what is paused of a tenant, by kind and name.
	Pauses(ctx context.Context, tenant string) ([]Pause, error)
}

// Pause is an order that holds for lanes: nothing of them is claimed or handed over.
type Pause struct {
	Tenant string
	Kind   PauseKind
	Name   string // of the workflow or the queue; PauseTenant: ""
	By     string // who
	Reason string // why
	At     machine.Time
}

// PauseKind says which lanes of a tenant a pause covers.
type PauseKind string

// The kinds of pauses.
const (
	PauseWorkflow PauseKind = "workflow" // those of the workflow Name
	PauseQueue    PauseKind = "queue"    // those of the queue Name
	PauseTenant   PauseKind = "tenant"   // all
)

// Covers says whether p keeps the tasks of l from being claimed.
func (p *Pause) Covers(l Lane) bool {
	if p.Tenant != l.Tenant {
		return false
	}
	switch p.Kind {
	case PauseWorkflow:
		return p.Name == l.Workflow
	case PauseQueue:
		return p.Name == l.Queue
	case PauseTenant:
		return true
	}
	return false
}

// Storable gives nil when p can be set, else an error that wraps ErrRefused.
func (p *Pause) Storable() error {
	switch p.Kind {
	case PauseWorkflow, PauseQueue:
	case PauseTenant:
		if p.Name != "" {
			return fmt.Errorf("%w: the pause of a tenant names something in it", ErrRefused)
		}
	default:
		return fmt.Errorf("%w: a pause of the kind %q", ErrRefused, p.Kind)
	}
	return storable([]string{p.Tenant, p.Name, p.By, p.Reason})
}

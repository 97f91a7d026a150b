package orders

import (
	"context"
	"errors"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/store"
)

// SupplyAnswer is what came of pausing or resuming a workflow, a queue or a tenant as a whole.
type SupplyAnswer struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"`
}

// SupplyOf reads workflow:W, queue:Q or tenant:T; anything else names no supply.
func SupplyOf(word string) (millrace.Supply, bool) {
	kind, name, found := strings.Cut(word, ":")
	if !found || name == "" {
		return millrace.Supply{}, false
	}
	switch kind {
	case "workflow", "queue", "tenant":
		return millrace.Supply{Kind: kind, Name: name}, true
	}
	return millrace.Supply{}, false
}

// Supplies pauses or resumes supplies.
func (d *Desk) Supplies(ctx context.Context, supplies []millrace.Supply, pause bool, o millrace.Order) ([]SupplyAnswer, error) {
	answers := make([]SupplyAnswer, 0, len(supplies))
	for _, s := range supplies {
		changed, err := d.supply(ctx, s, pause, o)
		if err != nil {
			return nil, err
		}
		answers = append(answers, SupplyAnswer{Kind: s.Kind, Name: s.Name, Paused: pause, Changed: changed})
	}
	return answers, nil
}

func (d *Desk) supply(ctx context.Context, s millrace.Supply, pause bool, o millrace.Order) (bool, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	tenant := d.Tenant
	if s.Kind == "tenant" { // that is its own
		tenant, s.Name = s.Name, ""
	}
	if pause {
		changed, err := d.Client.PauseSupply(ctx, tenant, s, o)
		if errors.Is(err, store.ErrNotFound) {
			err = &Missing{What: s.Kind + " " + s.Name, Hint: "`millrace workflows` lists those that there are"}
		}
		return changed, err
	}
	return d.Client.ResumeSupply(ctx, tenant, s, o)
}

// TellSupplies tells people what came of it.
func (d *Desk) TellSupplies(answers []SupplyAnswer) error {
	if d.JSON {
		return d.Print(map[string]any{"supplies": answers})
	}
	var b strings.Builder
	for _, a := range answers {
		b.WriteString(a.Kind + " " + a.Name + ": ")
		switch {
		case a.Paused && a.Changed:
			b.WriteString("paused; what runs goes on, nothing else is taken up\n")
		case a.Paused:
			b.WriteString("was paused already\n")
		case a.Changed:
			b.WriteString("resumed\n")
		default:
			b.WriteString("was not paused\n")
		}
	}
	return d.Write(b.String())
}

package sim

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Mutants are the faults that can be planted in the store, each to be found within some hundred seeds.
func Mutants() []string {
	return []string{
		"version ignored", "guards ignored", "timer early", "timer kept", "retry early", "payloads swapped", "message kept", "lease ignored", "stop unmarked",
		"hold ignored", "letter lost", "letter kept",
	}
}

// mutant is a store with a planted fault.
type mutant struct {
	store.Store

	name string
}

func mutate(name string, m store.Store) store.Store {
	if name == "" {
		return m
	}
	return &mutant{Store: m, name: name}
}

// Settle is the store's, with the fault.
func (m *mutant) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	bad := make([]store.Settlement, len(all))
	for i, s := range all {
		switch m.name {
		case "version ignored":
			s = m.fresh(ctx, s)
		case "guards ignored":
			s.Guards = m.open(ctx, s)
		case "timer kept":
			s.Timers = nil
		case "message kept":
			s.Inbox = nil
		case "payloads swapped":
			s.Entries = swapped(s.Entries)
		}
		s.Effects = m.effects(s.Effects)
		bad[i] = s
	}
	return m.Store.Settle(ctx, bad)
}

// fresh makes a settlement of an old state look like one of the newest.
func (m *mutant) fresh(ctx context.Context, s store.Settlement) store.Settlement {
	now, err := m.Store.State(ctx, s.Run.Tenant, s.Run.ID, nil, nil)
	if err != nil || now.Version == s.From {
		return s
	}
	behind := now.Run.Seq + int64(len(s.Entries)) - s.Run.Seq
	run := *s.Run
	run.Seq += behind
	s.Run, s.From = &run, now.Version
	s.Entries = append([]store.Entry(nil), s.Entries...)
	for i := range s.Entries {
		s.Entries[i].Seq += behind
	}
	return s
}

// open gives guards that let everything pass.
func (m *mutant) open(ctx context.Context, s store.Settlement) []store.Guard {
	live, _ := m.Store.Tasks(ctx, s.Run.Tenant, s.Run.ID, nil) // without the run there are no rows
	var out []store.Guard
	for _, g := range s.Guards {
		for i := range live {
			if live[i].Path == g.Path {
				g.Token = live[i].Token
				out = append(out, g)
			}
		}
	}
	return out
}

func swapped(in []store.Entry) []store.Entry {
	out := append([]store.Entry(nil), in...)
	for i := 1; i < len(out); i++ {
		if a, b := &out[i-1], &out[i]; a.Kind == machine.TaskSucceeded && b.Kind == machine.TaskSucceeded {
			a.Payload, b.Payload = b.Payload, a.Payload
		}
	}
	return out
}

func (m *mutant) effects(in []machine.Effect) []machine.Effect {
	var out []machine.Effect
	for _, effect := range in {
		switch e := effect.(type) {
		case machine.SetTimer:
			if m.name == "timer early" {
				e.Due = e.Due.Add(-2 * time.Second)
			}
			effect = e
		case machine.StartTask:
			if m.name == "retry early" {
				e.Due = 0
			}
			effect = e
		case machine.StopTask:
			if m.name == "stop unmarked" {
				continue
			}
		case machine.HoldTasks:
			if m.name == "hold ignored" {
				continue
			}
		case machine.OpenLetter:
			if m.name == "letter lost" {
				continue
			}
		case machine.CloseLetter:
			if m.name == "letter kept" {
				continue
			}
		}
		out = append(out, effect)
	}
	return out
}

// Expired is the store's, with the fault: leases that hold are among them.
func (m *mutant) Expired(ctx context.Context, limit int) ([]store.Live, error) {
	got, err := m.Store.Expired(ctx, limit)
	if m.name != "lease ignored" || err != nil {
		return got, err
	}
	rows, err := m.Store.Runs(ctx, store.Filter{Tenant: tenant})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		live, _ := m.Store.Tasks(ctx, tenant, rows[i].ID, nil) // it was just listed
		for k := range live {
			if live[k].State == store.Leased && len(got) < limit {
				live[k].Dead = true
				got = append(got, live[k])
			}
		}
	}
	return got, nil
}

package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Repaired says what a repair changed.
type Repaired struct {
	Documents []string // paths of those that were written anew or removed, "" for the root's
	Tasks     []string // paths of those that were started, started anew, or removed
	Timers    []string // keys of those that were set or cancelled
	Letters   []string // kinds and paths of those that were opened or closed
	Values    []string // names of those that were stored again
}

// DamageError is a run that cannot be mended, since its own journal or its definition is damaged.
type DamageError struct{ Finding Finding }

// Error says what is damaged.
func (e *DamageError) Error() string {
	return fmt.Sprintf("run %s cannot be mended: %s", e.Finding.Run, e.Finding.Message)
}

// Is makes errors.Is(err, store.ErrDamaged) true.
func (e *DamageError) Is(target error) bool { return target == store.ErrDamaged }

const repairTries = 20 // against others who change the run

// Repair has what is stored of a run agree with its journal, in one settlement. nil when it does already. Errors: ErrNotFound,
// *DamageError, those of the store.
func (d *Doctor) Repair(ctx context.Context, tenant, run string) (*Repaired, error) {
	for range repairTries {
		row, err := d.Row(ctx, tenant, run)
		if err != nil {
			return nil, err
		}
		l, s, err := d.look(ctx, &row)
		if err != nil {
			return nil, fmt.Errorf("repair run %s: %w", run, err)
		}
		if l.damage != nil {
			return nil, &DamageError{*l.damage}
		}
		diff := compare(l, s)
		if !slices.ContainsFunc(diff.found, func(f Finding) bool { return f.Mendable }) {
			return nil, nil
		}
		done, err := d.settle(ctx, diff)
		if err != nil {
			return nil, fmt.Errorf("repair run %s: %w", run, err)
		}
		if done {
			return diff.repaired(), nil
		}
	}
	return nil, fmt.Errorf("repair run %s: %w", run, errChanging)
}

// settle writes what is to be different, if the run has not changed since it was looked at.
func (d *Doctor) settle(ctx context.Context, diff *difference) (done bool, err error) {
	at, err := d.Store.Clock(ctx)
	if err != nil {
		return false, err
	}
	s := diff.settlement()
	s.At = max(at, s.Run.At)
	got, err := d.Store.Settle(ctx, []store.Settlement{s})
	switch {
	case err != nil:
		return false, err
	case len(got) != 1:
		return false, fmt.Errorf("the store answered for %d settlements", len(got))
	case got[0].Result == store.Refused:
		return false, got[0].Err
	}
	return got[0].Result == store.Won, nil
}

// settlement gives what makes the store agree with the journal.
func (d *difference) settlement() store.Settlement {
	run := d.ledger.run.Saved()
	run.Scopes, run.Chunks = maps.Clone(run.Scopes), maps.Clone(run.Chunks)
	for _, path := range d.rewrite {
		if path != "" {
			run.Touch(path)
		}
	}
	s := store.Settlement{Run: run, From: d.sight.row.StateVersion}
	for i := range d.remove {
		s.Guards = append(s.Guards, store.Guard{Path: d.remove[i].Path, Token: d.remove[i].Token, Remove: true})
	}
	do := func(cause int64, e machine.Effect) {
		s.Effects, s.Causes = append(s.Effects, e), append(s.Causes, cause)
	}
	for _, v := range d.ledger.missing {
		do(v.cause, v.put)
	}
	for _, t := range d.start {
		do(t.cause, t.StartTask)
	}
	if d.hold {
		do(run.Seq, d.holding())
	}
	for _, key := range d.set {
		t := d.ledger.timers[key]
		do(t.cause, machine.SetTimer{Key: key, Due: t.due})
	}
	for _, key := range d.cancel {
		do(run.Seq, machine.CancelTimer{Key: key})
	}
	for _, k := range d.open {
		x := d.ledger.letters[k]
		do(x.cause, machine.OpenLetter{Kind: k.kind, Path: k.path, Error: x.err})
	}
	for _, k := range d.close {
		do(run.Seq, machine.CloseLetter{Kind: k.kind, Path: k.path, How: machine.LetterSuperseded})
	}
	return s
}

// holding gives the effect by which all tasks are as the run's pause says.
func (d *difference) holding() machine.Effect {
	if d.ledger.run.Status == machine.Paused {
		return machine.HoldTasks{}
	}
	return machine.FreeTasks{}
}

func (d *difference) repaired() *Repaired {
	r := &Repaired{Documents: d.rewrite, Timers: append(slices.Clone(d.set), d.cancel...)}
	for i := range d.remove {
		r.Tasks = append(r.Tasks, d.remove[i].Path)
	}
	for _, t := range d.start {
		r.Tasks = append(r.Tasks, t.Path)
	}
	slices.Sort(r.Tasks)
	r.Tasks = slices.Compact(r.Tasks)
	for _, k := range append(slices.Clone(d.open), d.close...) {
		r.Letters = append(r.Letters, string(k.kind)+" "+k.path)
	}
	for _, v := range d.ledger.missing {
		r.Values = append(r.Values, v.put.Ref.String())
	}
	return r
}

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Books are the two accounts of what a fleet did: what handlers wrote down, and the journals of the runs.
type Books struct {
	Lines   []Line
	Entries map[string][]Entry // by run
}

// Entry is one of a journal about an attempt, or about anything else, then without Owner.
type Entry struct {
	store.Entry
	Owner string // the process that held the attempt
}

// ID names the attempt that an entry of a run is about.
func (e *Entry) ID(run string) ID { return ID{run, e.Path, e.Attempt} }

// ReadBooks reads the ledger in folder, and the journals of runs.
func ReadBooks(ctx context.Context, st store.Reader, tenant, folder string, runs []string) (*Books, error) {
	lines, err := ReadLedger(folder)
	if err != nil {
		return nil, err
	}
	b := &Books{Lines: lines, Entries: map[string][]Entry{}}
	for _, run := range runs {
		if b.Entries[run], err = readJournal(ctx, st, tenant, run); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func readJournal(ctx context.Context, st store.Reader, tenant, run string) (all []Entry, err error) {
	const page = 1000
	for {
		rows, err := st.Journal(ctx, tenant, run, int64(len(all)), page)
		if err != nil {
			return nil, fmt.Errorf("journal of %s: %w", run, err)
		}
		if len(rows) == 0 {
			return all, nil
		}
		for _, row := range rows {
			var facts struct {
				Worker string `json:"worker"`
			}
			_ = json.Unmarshal(row.Facts, &facts) // one without facts is not about an attempt
			all = append(all, Entry{row, facts.Worker})
		}
	}
}

// Of gives the attempts that the journals have entries of a kind about, with who held them.
func (b *Books) Of(kind machine.EventKind) map[ID]string {
	all := map[ID]string{}
	for run, entries := range b.Entries {
		for i := range entries {
			if entries[i].Kind == kind {
				all[entries[i].ID(run)] = entries[i].Owner
			}
		}
	}
	return all
}

// In gives the attempts that have a line of a kind, with who wrote it.
func (b *Books) In(what What) map[ID]string {
	all := map[ID]string{}
	for i := range b.Lines {
		if l := &b.Lines[i]; l.What == what {
			all[l.ID()] = l.Owner
		}
	}
	return all
}

// Faults says in what the two accounts contradict themselves or each other: an attempt that was begun twice, settled twice, or
// settled by who had not begun it; a task that succeeded twice; an end that is in no journal; and an attempt that was begun by
// another process than those named by broken, and declared lost. Runs that somebody had done anew have tasks that succeed twice.
func (b *Books) Faults(broken ...string) []string {
	var all []string
	all = append(all, b.begunTwice()...)
	for _, run := range b.runs() {
		all = append(all, b.settledTwice(run)...)
	}
	all = append(all, b.unsettled()...)
	for id, owner := range b.Of(machine.TaskLost) {
		if !slices.Contains(broken, owner) {
			all = append(all, fmt.Sprintf("%v was declared lost, and %s was never broken", id, owner))
		}
	}
	slices.Sort(all)
	return all
}

func (b *Books) runs() (all []string) {
	for run := range b.Entries {
		all = append(all, run)
	}
	slices.Sort(all)
	return all
}

func (b *Books) begunTwice() (all []string) {
	begun := map[ID]string{}
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.What != Begun {
			continue
		}
		if by, twice := begun[l.ID()]; twice {
			all = append(all, fmt.Sprintf("%v was begun twice: by %s and by %s", l.ID(), by, l.Owner))
		}
		begun[l.ID()] = l.Owner
	}
	return all
}

// settledTwice looks at the outcomes of one run: a number is given to one attempt of a task, the next is greater by one, and
// each has one outcome.
func (b *Books) settledTwice(run string) (all []string) {
	begun := b.In(Begun)
	last, done := map[string]int{}, map[string]bool{}
	for i := range b.Entries[run] {
		e := &b.Entries[run][i]
		id := e.ID(run)
		switch e.Kind {
		case machine.TaskSucceeded, machine.TaskFailed, machine.TaskLost, machine.TaskReleased:
		default:
			continue
		}
		if e.Attempt != last[e.Path]+1 {
			all = append(all, fmt.Sprintf("%v was settled as %s after attempt %d", id, e.Kind, last[e.Path]))
		}
		last[e.Path] = e.Attempt
		if done[e.Path] {
			all = append(all, fmt.Sprintf("%v was settled as %s though the task had succeeded", id, e.Kind))
		}
		done[e.Path] = done[e.Path] || e.Kind == machine.TaskSucceeded
		if e.Kind == machine.TaskSucceeded && begun[id] != e.Owner {
			all = append(all, fmt.Sprintf("%v succeeded at %s and was begun by %q", id, e.Owner, begun[id]))
		}
	}
	return all
}

// unsettled finds ends of which no journal has an entry.
func (b *Books) unsettled() (all []string) {
	known := map[ID]bool{}
	for run, entries := range b.Entries {
		for i := range entries {
			known[entries[i].ID(run)] = true
		}
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		if _, ours := b.Entries[l.RunID]; ours && l.What != Begun && !known[l.ID()] {
			all = append(all, fmt.Sprintf("%v %s at %s, and no journal says so", l.ID(), l.What, l.Owner))
		}
	}
	return all
}

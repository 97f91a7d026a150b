package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// ledger is what the journal of a run leads to, as far as it was replayed.
type ledger struct {
	st     store.Store
	def    *workflow.Definition
	replay *machine.Rebuilder
	run    *machine.Run // as a store would have it
	damage *Finding     // why nothing further can be said; nil: it was replayed
	fault  error        // of the store, while an entry was replayed

	tasks   map[string]*due
	timers  map[string]deadline
	letters map[letterKey]letter
	found   []Finding // values that are not stored as they were computed
	missing []lost

	made  []lost // values that were computed and are not compared yet
	bytes int    // of them
}

// due is a task that must exist: how it was started, by which entry.
type due struct {
	machine.StartTask
	cause int64
}

type deadline struct {
	due   machine.Time
	cause int64
}

type letterKey struct {
	kind machine.LetterKind
	path string
}

type letter struct {
	err   *machine.Error
	cause int64
}

// lost is a computed value that the store does not have.
type lost struct {
	put   machine.PutValue
	cause int64
}

func newLedger(st store.Store, h machine.Header) *ledger {
	return &ledger{
		st: st, run: machine.NewRun(h), tasks: map[string]*due{}, timers: map[string]deadline{}, letters: map[letterKey]letter{},
	}
}

// begin has a ledger replay by a definition, and read what it needs of the past in the context of the look.
func (l *ledger) begin(ctx context.Context, def *workflow.Definition) {
	l.def = def
	l.replay = machine.NewRebuilder(def, l.run.Header, func(refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
		all := map[machine.Ref]json.RawMessage{}
		for i := range l.missing { // what can be stored again is no damage of the journal
			if x := &l.missing[i].put; slices.Contains(refs, x.Ref) {
				all[x.Ref] = x.Data
			}
		}
		var got map[machine.Ref]json.RawMessage
		got, l.fault = l.st.Payloads(ctx, l.run.Tenant, l.run.ID, refs)
		maps.Copy(all, got)
		return all, l.fault
	})
}

func (l *ledger) broken(format string, args ...any) {
	l.damage = &Finding{Run: l.run.ID, Check: Journal, Message: fmt.Sprintf(format, args...)}
}

// read replays the journal up to an entry, page by page. The error is the store's.
func (l *ledger) read(ctx context.Context, until int64) error {
	for l.damage == nil && l.run.Seq < until {
		entries, err := l.st.Journal(ctx, l.run.Tenant, l.run.ID, l.run.Seq, int(min(pageSize, until-l.run.Seq)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			l.broken("the journal ends at entry %d; the run says that it has %d", l.run.Seq, until)
			return nil
		}
		if err := l.page(ctx, entries); err != nil {
			return err
		}
	}
	if l.damage != nil {
		return nil
	}
	more, err := l.st.Journal(ctx, l.run.Tenant, l.run.ID, until, 1)
	if err == nil && len(more) > 0 {
		l.broken("the journal has an entry %d; the run says that it has %d", more[0].Seq, until)
	}
	return err
}

// page replays some entries and checks the values that they made.
func (l *ledger) page(ctx context.Context, entries []store.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Seq != l.run.Seq+1 {
			l.broken("entry %d is followed by entry %d", l.run.Seq, e.Seq)
			return nil
		}
		if err := l.apply(e); err != nil || l.damage != nil {
			return err
		}
		if len(l.made) >= pageSize || l.bytes >= store.PageBytes {
			if err := l.values(ctx); err != nil {
				return err
			}
		}
	}
	return l.values(ctx)
}

// apply replays one entry.
func (l *ledger) apply(e *store.Entry) error {
	effects, err := l.replay.Apply(e.Event())
	switch {
	case l.fault != nil:
		return l.fault
	case err != nil:
		l.broken("entry %d, %s %s, cannot be replayed: %v", e.Seq, e.Kind, e.Path, err)
		return nil
	}
	l.told(e)
	l.run = l.replay.Run()
	l.take(effects)
	return nil
}

// told takes away what the telling of an event removes.
func (l *ledger) told(e *store.Entry) {
	switch e.Kind {
	case machine.TaskSucceeded, machine.TaskFailed, machine.TaskLost, machine.TaskReleased, machine.TaskStopped:
		delete(l.tasks, e.Path)
	case machine.TimerFired:
		delete(l.timers, e.Path)
	default:
	}
}

// take carries out effects as a store would.
func (l *ledger) take(effects []machine.Effect) {
	cause := l.run.Seq
	for _, effect := range effects {
		switch x := effect.(type) {
		case machine.StartTask:
			l.tasks[x.Path] = &due{StartTask: x, cause: cause}
		case machine.SetTimer:
			l.timers[x.Key] = deadline{due: x.Due, cause: cause}
		case machine.CancelTimer:
			delete(l.timers, x.Key)
		case machine.PutValue:
			l.made, l.bytes = append(l.made, lost{put: x, cause: cause}), l.bytes+len(x.Data)
		case machine.HoldTasks, machine.FreeTasks:
			_, held := x.(machine.HoldTasks)
			for _, t := range l.tasks {
				t.Held = held
			}
		case machine.OpenLetter:
			l.letters[letterKey{x.Kind, x.Path}] = letter{err: x.Error, cause: cause}
		case machine.CloseLetter:
			l.close(x)
		case machine.EndRun:
			clear(l.tasks)
			clear(l.timers)
		case machine.StopTask: // who holds it goes on, and TaskStopped follows if nobody does
		}
	}
}

func (l *ledger) close(x machine.CloseLetter) {
	if x.Kind != "" {
		delete(l.letters, letterKey{x.Kind, x.Path})
		return
	}
	maps.DeleteFunc(l.letters, func(k letterKey, _ letter) bool { return k.kind != machine.LetterFinally })
}

// values compares the values that were computed since it was last called with those that are stored, few at a time.
func (l *ledger) values(ctx context.Context) error {
	for len(l.made) > 0 {
		n, size := 0, 0
		for ; n < min(len(l.made), pageSize) && size < store.PageBytes; n++ {
			size += len(l.made[n].put.Data)
		}
		if err := l.stored(ctx, l.made[:n]); err != nil {
			return err
		}
		l.made = l.made[n:]
	}
	l.made, l.bytes = nil, 0
	return nil
}

// stored compares values that were computed with those that are stored.
func (l *ledger) stored(ctx context.Context, some []lost) error {
	refs := make([]machine.Ref, len(some))
	for i := range some {
		refs[i] = some[i].put.Ref
	}
	got, err := l.st.Payloads(ctx, l.run.Tenant, l.run.ID, refs)
	if err != nil {
		return err
	}
	for i := range some {
		raw, ok := got[some[i].put.Ref]
		switch {
		case !ok:
			l.missing = append(l.missing, some[i])
			l.value("value %s is missing", some[i].put.Ref, true)
		case !bytes.Equal(raw, some[i].put.Data):
			l.value("value %s is another than the one that was computed", some[i].put.Ref, false)
		}
	}
	return nil
}

func (l *ledger) value(format string, ref machine.Ref, mendable bool) {
	l.found = append(l.found, Finding{Run: l.run.ID, Check: Values, Message: fmt.Sprintf(format, ref), Mendable: mendable})
}

// documents gives the child documents that must be stored, by path, and the root's under "".
func (l *ledger) documents() map[string][]byte { return documents(l.run) }

// documents writes down all documents that a run holds.
func documents(run *machine.Run) map[string][]byte {
	all := run.Saved()
	for _, path := range held(run) {
		all.Touch(path)
	}
	out := map[string][]byte{"": all.EncodeRoot()}
	for _, c := range all.Changes() {
		out[c.Path] = c.Doc
	}
	return out
}

// held gives the paths of the child documents that a run holds.
func held(run *machine.Run) (paths []string) {
	for path, sc := range run.Scopes {
		if sc != nil {
			paths = append(paths, path)
		}
	}
	for path, c := range run.Chunks {
		if c != nil {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

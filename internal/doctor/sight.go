package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// sight is what lies in the store of one run.
type sight struct {
	row       *store.RunRow
	documents map[string][]byte
	tasks     []store.Live
	timers    []store.Timer
	letters   []store.Letter // that are open
}

// see reads what is stored beside the journal.
func (d *Doctor) see(ctx context.Context, row *store.RunRow) (*sight, error) {
	s := &sight{row: row}
	var err error
	if s.documents, err = d.Store.Documents(ctx, row.Tenant, row.ID); err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	if s.tasks, err = d.Store.Tasks(ctx, row.Tenant, row.ID, nil); err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	if s.timers, err = d.Store.Timers(ctx, row.Tenant, row.ID); err != nil {
		return nil, fmt.Errorf("read timers: %w", err)
	}
	f := store.LetterFilter{Tenant: row.Tenant, RunID: row.ID, State: machine.LetterOpen, Limit: pageSize}
	for {
		page, err := d.Store.Letters(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		s.letters = append(s.letters, page...)
		if len(page) < pageSize {
			return s, nil
		}
		f.Before = page[len(page)-1].ID
	}
}

// difference is what is stored and should not be, or the reverse.
type difference struct {
	ledger *ledger
	sight  *sight
	found  []Finding

	rewrite []string     // paths of documents that are to be written or removed
	start   []*due       // tasks that are to be started
	remove  []store.Live // tasks that are to be removed, those first that are to be started anew
	hold    bool         // tasks are claimable although the run is paused, or the reverse
	set     []string     // timers that are to be set
	cancel  []string     // timers that are to be cancelled
	open    []letterKey
	close   []letterKey
}

// compare gives what is wrong with a run. When its journal is damaged, that is all.
func compare(l *ledger, s *sight) *difference {
	d := &difference{ledger: l, sight: s}
	if l.damage != nil {
		d.found = append(d.found, *l.damage)
		return d
	}
	d.row()
	d.docs()
	d.state()
	d.liveTasks()
	d.liveTimers()
	d.openLetters()
	d.found = append(d.found, l.found...)
	return d
}

func (d *difference) say(check Check, format string, args ...any) {
	d.found = append(d.found, Finding{Run: d.sight.row.ID, Check: check, Message: fmt.Sprintf(format, args...), Mendable: check != State})
}

func (d *difference) row() {
	row, run := d.sight.row, d.ledger.run
	if row.Status != run.Status {
		d.say(Documents, "the run is stored as %s; the journal says %s", row.Status, run.Status)
	}
	if row.StartedAt != run.StartedAt || row.FinishedAt != run.FinishedAt {
		d.say(Documents, "the run's beginning and end are stored as %s and %s; the journal says %s and %s",
			when(row.StartedAt), when(row.FinishedAt), when(run.StartedAt), when(run.FinishedAt))
	}
}

func when(t machine.Time) string {
	if t == 0 {
		return "never"
	}
	return t.Std().Format(time.RFC3339Nano)
}

// docs compares the documents as they are written today: one that an older version wrote may have other bytes.
func (d *difference) docs() {
	want := d.ledger.documents()
	for _, path := range slices.Sorted(maps.Keys(d.sight.documents)) {
		name := "document " + path
		if path == "" {
			name = "the root's document"
		}
		doc, expected := d.sight.documents[path], want[path]
		got, err := rewritten(d.sight.row.Header, path, doc)
		switch {
		case err != nil:
			d.say(Documents, "%s cannot be read: %v", name, err)
		case expected == nil:
			d.say(Documents, "%s should not be there", name)
		case !bytes.Equal(got, expected):
			d.say(Documents, "%s is not what the journal gives", name)
		default:
			continue
		}
		d.rewrite = append(d.rewrite, path)
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if _, ok := d.sight.documents[path]; !ok {
			d.say(Documents, "document %s is missing", path)
			d.rewrite = append(d.rewrite, path)
		}
	}
}

// rewritten reads a document and writes it again.
func rewritten(h machine.Header, path string, doc []byte) ([]byte, error) {
	run := machine.NewRun(h)
	if path == "" {
		if err := run.SetRoot(doc); err != nil {
			return nil, err
		}
		return run.EncodeRoot(), nil
	}
	if doc == nil {
		doc = []byte{}
	}
	if err := run.Put(path, doc); err != nil {
		return nil, err
	}
	return documents(run)[path], nil
}

// state asks the machine what is wrong with what the journal gives.
func (d *difference) state() {
	l := d.ledger
	for _, what := range machine.Check(l.def, l.run) {
		d.say(State, "%s", what)
	}
	want := machine.LiveTasks(l.def, l.run)
	if have := slices.Sorted(maps.Keys(l.tasks)); !slices.Equal(have, want) {
		d.say(State, "the journal started the tasks %v; the documents say %v", have, want)
	}
}

func (d *difference) liveTasks() {
	stored := map[string]bool{}
	check := Tasks
	if d.ledger.run.Status.Ended() {
		check = Ended
	}
	for i := range d.sight.tasks {
		t := &d.sight.tasks[i]
		stored[t.Path] = true
		want := d.ledger.tasks[t.Path]
		if want == nil {
			d.say(check, "task %s should not be there", t.Path)
			d.remove = append(d.remove, *t)
			continue
		}
		d.task(t, want)
	}
	for _, path := range slices.Sorted(maps.Keys(d.ledger.tasks)) {
		if !stored[path] {
			d.say(Tasks, "task %s is missing", path)
			d.start = append(d.start, d.ledger.tasks[path])
		}
	}
}

// task compares a stored task with how it was started.
func (d *difference) task(t *store.Live, want *due) {
	attempt := want.Attempt
	if t.State == store.Leased {
		attempt++
	}
	switch {
	case t.Attempt != attempt:
		d.say(Tasks, "task %s stands at attempt %d; the journal says %d", t.Path, t.Attempt, attempt)
	case t.Lane.Queue != want.Queue || t.Lane.Handler != want.Handler || !same(t.Env, want.Env):
		d.say(Tasks, "task %s is not as the journal started it", t.Path)
	case t.State != store.Leased && want.Held != (t.State == store.OnHold):
		d.say(Tasks, "task %s can be claimed although the run is paused, or the reverse", t.Path)
		d.hold = true
		return
	default:
		return
	}
	if t.State != store.Leased { // who holds it has what it needs
		d.remove = append(d.remove, *t)
		d.start = append(d.start, want)
	}
}

func same(a, b machine.Env) bool {
	x, err := json.Marshal(a)
	y, bad := json.Marshal(b)
	return err == nil && bad == nil && bytes.Equal(x, y)
}

func (d *difference) liveTimers() {
	check := Timers
	if d.ledger.run.Status.Ended() {
		check = Ended
	}
	stored := map[string]bool{}
	for _, t := range d.sight.timers {
		stored[t.Key] = true
		want, ok := d.ledger.timers[t.Key]
		switch {
		case !ok:
			d.say(check, "timer %s should not be there", t.Key)
			d.cancel = append(d.cancel, t.Key)
		case want.due != t.Due:
			d.say(check, "timer %s is set for another time than the journal says", t.Key)
			d.set = append(d.set, t.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.ledger.timers)) {
		if !stored[key] {
			d.say(Timers, "timer %s is missing", key)
			d.set = append(d.set, key)
		}
	}
}

func (d *difference) openLetters() {
	stored := map[letterKey]bool{}
	for i := range d.sight.letters {
		x := &d.sight.letters[i]
		k := letterKey{x.Kind, x.Path}
		stored[k] = true
		if _, ok := d.ledger.letters[k]; !ok {
			d.say(Letters, "dead letter %d (%s %s) is open; the journal says that it is not", x.ID, x.Kind, x.Path)
			d.close = append(d.close, k)
		}
	}
	for k := range d.ledger.letters {
		if !stored[k] {
			d.open = append(d.open, k)
		}
	}
	slices.SortFunc(d.open, func(a, b letterKey) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path)) })
	for _, k := range d.open {
		d.say(Letters, "a dead letter (%s %s) should be open and is not", k.kind, k.path)
	}
}

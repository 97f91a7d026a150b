package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// sight is all that can be seen of a store, in a form that two stores can be compared in: numbers that each store gives by
// itself are left out, and a delayed task that is due counts as ready.
type sight struct {
	Now       machine.Time
	Workflows []store.Workflow
	Rows      []store.RunRow
	Runs      map[string]runSight
	Inbox     []store.Message
	Due       []store.Timer
	Next      machine.Time
	Expired   []store.Live
	Letters   []store.Letter
	Lanes     []store.Lane
	Depths    []store.Depth
	Pauses    []store.Pause
}

// runSight is all that can be seen of one run.
type runSight struct {
	Version  int64
	Run      *machine.Run
	Stored   map[string]string // documents
	Tasks    []store.Live
	Timers   []store.Timer
	Journal  []store.Entry
	Payloads map[machine.Ref]string
}

// failer is what looking needs of a test.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// look sees all there is of both tenants.
func look(ctx context.Context, t failer, s store.Store) sight {
	t.Helper()
	var out sight
	var errs [8]error
	out.Now, errs[0] = s.Clock(ctx)
	out.Inbox, errs[1] = s.Inbox(ctx, many)
	out.Due, out.Next, errs[2] = s.Due(ctx, many)
	out.Expired, errs[3] = s.Expired(ctx, many)
	out.Lanes, errs[4] = s.Lanes(ctx, 0, many)
	for _, name := range []string{tenant, stranger} {
		workflows, err := s.Workflows(ctx, name)
		errs[5] = errors.Join(errs[5], err)
		out.Workflows = append(out.Workflows, workflows...)
		depths, err := s.Queues(ctx, name)
		errs[7] = errors.Join(errs[7], err)
		out.Depths = append(out.Depths, depths...)
		pauses, err := s.Pauses(ctx, name)
		errs[7] = errors.Join(errs[7], err)
		out.Pauses = append(out.Pauses, pauses...)
		letters, err := s.Letters(ctx, store.LetterFilter{Tenant: name, Limit: many})
		errs[6] = errors.Join(errs[6], err)
		out.Letters = append(out.Letters, letters...)
		rows, err := s.Runs(ctx, store.Filter{Tenant: name, Limit: many})
		errs[6] = errors.Join(errs[6], err)
		out.Rows = append(out.Rows, rows...)
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	out.Runs = map[string]runSight{}
	for _, row := range out.Rows {
		one, err := lookAt(ctx, s, row)
		if err != nil {
			t.Fatal(fmt.Errorf("run %s: %w", row.ID, err))
		}
		out.Runs[row.ID] = one
	}
	out.plain()
	return out
}

func lookAt(ctx context.Context, s store.Store, row store.RunRow) (runSight, error) {
	var out runSight
	var errs [6]error
	var state store.RunState
	state, errs[0] = s.State(ctx, row.Tenant, row.ID, nil, []string{""})
	out.Version, out.Run = state.Version, state.Run
	out.Tasks, errs[1] = s.Tasks(ctx, row.Tenant, row.ID, nil)
	out.Timers, errs[2] = s.Timers(ctx, row.Tenant, row.ID)
	out.Journal, errs[3] = s.Journal(ctx, row.Tenant, row.ID, 0, many)
	var all []machine.Ref
	for i := range row.Seq {
		all = append(all, machine.Ref{Seq: i + 1})
	}
	for i := range 8 {
		all = append(all, machine.Ref{Key: "v", Index: i})
	}
	payloads, err := s.Payloads(ctx, row.Tenant, row.ID, all)
	errs[4] = err
	out.Payloads = map[machine.Ref]string{}
	for ref, payload := range payloads {
		out.Payloads[ref] = string(payload)
	}
	stored, err := s.Documents(ctx, row.Tenant, row.ID)
	errs[5] = err
	out.Stored = map[string]string{}
	for path, doc := range stored {
		out.Stored[path] = string(doc)
	}
	for i := range out.Tasks {
		plainTask(&out.Tasks[i].Task)
	}
	return out, errors.Join(errs[:]...)
}

// byName orders lanes: in which order those are numbered that one call makes is the store's affair.
func byName(a, b store.Lane) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Handler, b.Handler),
		cmp.Compare(a.Workflow, b.Workflow))
}

// plain leaves out the numbers that the store gave.
func (s *sight) plain() {
	for i := range s.Inbox {
		s.Inbox[i].Seq = 0
	}
	for i := range s.Letters {
		s.Letters[i].ID = 0
	}
	for i := range s.Lanes {
		s.Lanes[i].ID = 0
	}
	slices.SortFunc(s.Lanes, byName)
	for i := range s.Depths {
		s.Depths[i].ID = 0
	}
	for i := range s.Expired {
		plainTask(&s.Expired[i].Task)
	}
	slices.SortFunc(s.Expired, func(a, b store.Live) int {
		return cmp.Or(cmp.Compare(a.LeaseUntil, b.LeaseUntil), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Path, b.Path))
	})
	for _, one := range s.Runs {
		for i := range one.Tasks {
			t := &one.Tasks[i]
			if t.State == store.Delayed && t.Due <= s.Now {
				t.State = store.Ready
			}
			if t.State != store.Delayed && (t.State != store.OnHold || t.Due <= s.Now) {
				t.Due = 0
			}
		}
	}
}

func plainTask(t *store.Task) { t.Lane.ID = 0 }

// marked gives the keys in order, with "!" before those that are false.
func marked(found map[string]bool) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key] {
			out = append(out, key)
		} else {
			out = append(out, "!"+key)
		}
	}
	slices.Sort(out)
	return out
}

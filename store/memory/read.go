package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// State is [store.Reader.State].
func (s *Store) State(ctx context.Context, tenant, runID string, scopes, under []string) (store.RunState, error) {
	if err := s.enter(ctx, "state"); err != nil {
		return store.RunState{}, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return store.RunState{}, fmt.Errorf("run %s: %w", runID, err)
	}
	paths := slices.Clone(scopes)
	for path := range r.docs {
		if slices.ContainsFunc(under, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			paths = append(paths, path)
		}
	}
	state, err := r.state(nil, paths)
	if err != nil {
		return store.RunState{}, err
	}
	return store.RunState{Run: state, Version: r.version}, nil
}

// state decodes the run as stored, or adds documents to one that was decoded before.
func (r *run) state(m *machine.Run, paths []string) (*machine.Run, error) {
	if m == nil {
		m = &machine.Run{
			Header: r.Header, Status: r.status, Seq: r.seq, At: r.at, StartedAt: r.started, FinishedAt: r.ended,
		}
		if err := m.SetRoot(r.root); err != nil {
			return nil, &store.DamagedError{RunID: r.ID, What: "root document", Err: err}
		}
	}
	for _, path := range paths {
		if m.Known(path) {
			continue
		}
		if err := m.Put(path, r.docs[path]); err != nil {
			return nil, &store.DamagedError{RunID: r.ID, What: "document " + path, Err: err}
		}
	}
	return m, nil
}

// Documents is [store.Reader.Documents].
func (s *Store) Documents(ctx context.Context, tenant, runID string) (map[string][]byte, error) {
	if err := s.enter(ctx, "documents"); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	out := map[string][]byte{"": bytes.Clone(r.root)}
	for path, doc := range r.docs {
		out[path] = bytes.Clone(doc)
	}
	return out, nil
}

// Payloads is [store.Reader.Payloads].
func (s *Store) Payloads(ctx context.Context, tenant, runID string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
	if err := s.enter(ctx, "payloads"); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	out, _ := r.payloads(refs)
	return out, nil
}

// Tasks is [store.Reader.Tasks].
func (s *Store) Tasks(ctx context.Context, tenant, runID string, paths []string) ([]store.Live, error) {
	if err := s.enter(ctx, "tasks"); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	var out []store.Live
	for _, path := range slices.Sorted(maps.Keys(r.tasks)) {
		if paths == nil || slices.Contains(paths, path) {
			out = append(out, r.tasks[path].alive())
		}
	}
	return out, nil
}

// Timers is [store.Reader.Timers].
func (s *Store) Timers(ctx context.Context, tenant, runID string) ([]store.Timer, error) {
	if err := s.enter(ctx, "timers"); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	var out []store.Timer
	for _, key := range slices.Sorted(maps.Keys(r.timers)) {
		out = append(out, r.timers[key])
	}
	return out, nil
}

// Journal is [store.Reader.Journal].
func (s *Store) Journal(ctx context.Context, tenant, runID string, after int64, limit int) ([]store.Entry, error) {
	if err := s.enter(ctx, "journal"); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.find(tenant, runID)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", runID, err)
	}
	from := min(max(after, 0), int64(len(r.entries)))
	var out []store.Entry
	for bytes := 0; from < int64(len(r.entries)) && len(out) < limit && bytes < store.PageBytes; from++ {
		e := r.entries[from]
		e.Payload, e.Facts = clone(e.Payload), clone(e.Facts)
		out, bytes = append(out, e), bytes+len(e.Payload)+len(e.Facts)
	}
	return out, nil
}

// Runs is [store.Reader.Runs].
func (s *Store) Runs(ctx context.Context, f store.Filter) ([]store.RunRow, error) {
	if err := s.enter(ctx, "runs"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.RunRow
	for _, r := range s.runs {
		if r.selected(f) {
			out = append(out, store.RunRow{
				Header: r.Header, Status: r.status, StateVersion: r.version, Seq: r.seq, StartedAt: r.started,
				FinishedAt: r.ended, Error: decodeError(r.err),
			})
		}
	}
	slices.SortFunc(out, func(a, b store.RunRow) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(cmp.Or(f.Limit, store.DefaultRows), len(out))], nil
}

func (r *run) selected(f store.Filter) bool {
	plain := strings.NewReplacer("-", "")
	return r.Tenant == f.Tenant &&
		(f.Workflow == "" || f.Workflow == r.Workflow) &&
		(f.Key == "" || f.Key == r.Key) &&
		(len(f.Status) == 0 || slices.Contains(f.Status, r.status)) &&
		r.labelled(f.Labels) &&
		strings.HasSuffix(plain.Replace(r.ID), plain.Replace(f.IDSuffix)) &&
		(f.FailedAt == "" || r.err != nil && decodeError(r.err).Step == f.FailedAt) &&
		(f.Code == "" || r.err != nil && decodeError(r.err).Code == f.Code) &&
		(f.Since == 0 || r.CreatedAt >= f.Since) &&
		(f.Until == 0 || r.CreatedAt < f.Until) &&
		(f.Before == "" || r.ID < f.Before)
}

func (r *run) labelled(labels map[string]string) bool {
	for name, want := range labels {
		if got, ok := r.Options.Labels[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// Queues is [store.Reader.Queues].
func (s *Store) Queues(ctx context.Context, tenant string) ([]store.Depth, error) {
	if err := s.enter(ctx, "queues"); err != nil {
		return nil, err
	}
	defer s.leave()
	now := s.clock()
	depths := map[int64]*store.Depth{}
	for _, r := range s.live {
		for _, t := range r.tasks {
			if t.lane.Tenant != tenant {
				continue
			}
			d := depths[t.lane.ID]
			if d == nil {
				d = &store.Depth{Lane: t.lane.Lane}
				depths[t.lane.ID] = d
			}
			count(d, t, now)
		}
	}
	out := make([]store.Depth, 0, len(depths))
	for _, d := range depths {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b store.Depth) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Workflow, b.Workflow))
	})
	return out, nil
}

func count(d *store.Depth, t *task, now machine.Time) {
	switch {
	case t.ready(now):
		d.Ready++
		if d.Oldest == 0 || t.ReadyAt < d.Oldest {
			d.Oldest = t.ReadyAt
		}
	case t.State == store.Delayed:
		d.Delayed++
	case t.State == store.Leased:
		d.Leased++
	case t.State == store.OnHold:
		d.Held++
	}
}

// Processes is [store.Reader.Processes].
func (s *Store) Processes(ctx context.Context) ([]store.ProcessRow, error) {
	if err := s.enter(ctx, "processes"); err != nil {
		return nil, err
	}
	defer s.leave()
	out := make([]store.ProcessRow, 0, len(s.processes))
	for _, owner := range slices.Sorted(maps.Keys(s.processes)) {
		p := s.processes[owner]
		p.Serves = slices.Clone(p.Serves)
		out = append(out, p)
	}
	return out, nil
}

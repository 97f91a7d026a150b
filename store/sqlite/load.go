package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// loader reads runs, documents and payloads on one connection, each at most once.
type loader struct {
	c    *conn
	runs map[id]*store.RunState
	rows map[id]stateRow // rows of runs that were seen on the way
	paid map[paidFor]json.RawMessage

	brought *member // a settlement that carries payloads itself; nil: none
}

// put puts into a map that may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

type paidFor struct {
	run id
	ref machine.Ref
}

func newLoader(c *conn) *loader { return &loader{c: c} }

func damage(runID, what string, err error) error {
	return &store.DamagedError{RunID: runID, What: what, Err: err}
}

func putDocument(to *machine.Run, path string, doc []byte) error {
	if err := to.Put(path, doc); err != nil {
		return damage(to.ID, "document "+path, err)
	}
	return nil
}

const (
	headerColumns = `tenant, workflow, workflow_version, key, home, machine_version, created_at, status, seq, at, started_at,
		finished_at`
	stateColumns = `r.tenant, r.workflow, r.workflow_version, r.key, r.home, r.machine_version, r.created_at, r.status, r.seq,
		r.at, r.started_at, r.finished_at, r.version, r.doc, r.options`
	runSQL = "select " + stateColumns + " from runs as r where r.id = ?"
)

// stateRow is a run's row, its document not read yet.
type stateRow struct {
	run     machine.Run
	version int64
	doc     []byte
	options string
}

// stateAt reads stateColumns from col on.
func stateAt(r *row, col int) stateRow {
	st := stateRow{version: r.ColumnInt64(col + 12), doc: link.BytesAt(r, col+13), options: r.ColumnText(col + 14)}
	headerAt(r, col, &st.run)
	return st
}

// state gives a run as stored, with the child documents at paths known. Runs that were loaded before only gain documents.
func (l *loader) state(run id, paths []string) (store.RunState, error) {
	st := l.runs[run]
	if st == nil {
		loaded, err := l.run(run)
		if err != nil {
			return store.RunState{}, err
		}
		st = loaded
		put(&l.runs, run, st)
	}
	for _, path := range paths {
		if st.Run.Known(path) {
			continue
		}
		doc, err := l.document(run, path)
		if err != nil {
			return store.RunState{}, err
		}
		if err := putDocument(st.Run, path, doc); err != nil {
			return store.RunState{}, err
		}
	}
	return *st, nil
}

func (l *loader) run(run id) (*store.RunState, error) {
	seen, found := l.rows[run]
	if !found {
		var err error
		found, err = l.c.One(runSQL, func(r *row) error {
			seen = stateAt(r, 0)
			return nil
		}, run)
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fmt.Errorf("run %s: %w", run, store.ErrNotFound)
	}
	st := &store.RunState{Run: &seen.run, Version: seen.version}
	st.Run.ID = run.String()
	if err := st.Run.SetRoot(seen.doc); err != nil {
		return nil, damage(st.Run.ID, "root document", err)
	}
	var err error
	if st.Run.Options, err = machine.DecodeOptions(seen.options); err != nil {
		return nil, damage(st.Run.ID, "options", err)
	}
	return st, nil
}

// headerAt reads headerColumns from col on.
func headerAt(r *row, col int, m *machine.Run) {
	m.Tenant, m.Workflow, m.Header.Version = r.ColumnText(col), r.ColumnText(col+1), r.ColumnInt(col+2)
	m.Key, m.Home, m.MachineVersion = r.ColumnText(col+3), r.ColumnText(col+4), r.ColumnInt(col+5)
	m.CreatedAt, m.Status = link.TimeAt(r, col+6), machine.Status(r.ColumnText(col+7))
	m.Seq, m.At = r.ColumnInt64(col+8), link.TimeAt(r, col+9)
	m.StartedAt, m.FinishedAt = link.TimeAt(r, col+10), link.TimeAt(r, col+11)
}

func (l *loader) document(run id, path string) (doc []byte, err error) {
	_, err = l.c.One("select doc from scopes where run = ? and path = ?", func(r *row) error {
		doc = link.BytesAt(r, 0)
		return nil
	}, run, path)
	return doc, err
}

// payloads gives those of refs that exist, and how many bytes they have.
func (l *loader) payloads(run id, refs []machine.Ref) (map[machine.Ref]json.RawMessage, int, error) {
	out := make(map[machine.Ref]json.RawMessage, len(refs))
	size := 0
	for _, ref := range refs {
		payload, err := l.payload(run, ref)
		if err != nil {
			return nil, 0, err
		}
		if payload != nil {
			out[ref] = payload
			size += len(payload)
		}
	}
	return out, size, nil
}

func (l *loader) payload(run id, ref machine.Ref) (json.RawMessage, error) {
	want := paidFor{run, ref}
	if payload, ok := l.paid[want]; ok {
		return payload, nil
	}
	if l.brought != nil && l.brought.id == run {
		if payload, ok := l.brought.payload(ref); ok {
			return payload, nil
		}
	}
	var payload json.RawMessage
	see := func(r *row) error {
		payload = link.BytesAt(r, 0)
		return nil
	}
	var err error
	if ref.Key == "" {
		_, err = l.c.One("select payload from journal where run = ? and seq = ?", see, run, ref.Seq)
	} else {
		_, err = l.c.One("select data from run_values where run = ? and key = ? and idx = ?", see, run, ref.Key, ref.Index)
	}
	put(&l.paid, want, payload)
	return payload, err
}

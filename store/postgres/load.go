package postgres

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

func damage(runID, what string, err error) error {
	return &store.DamagedError{RunID: runID, What: what, Err: err}
}

func putDocument(to *machine.Run, path string, doc []byte) error {
	if err := to.Put(path, doc); err != nil {
		return damage(to.ID, "document "+path, err)
	}
	return nil
}

// stateColumns are those of runs as r that a stateRow reads.
const stateColumns = `r.id, r.tenant, r.workflow, r.workflow_version, r.key, r.home, r.machine_version, r.created_at, r.status,
	r.seq, r.at, r.started_at, r.finished_at, r.version, r.options, r.doc`

// stateRow is a run's row, its document not read yet.
type stateRow struct {
	id      id
	run     machine.Run
	status  string
	version int64
	options string
	doc     []byte
}

// targets gives where stateColumns are read to.
func (s *stateRow) targets() []any {
	m := &s.run
	return []any{
		(*[16]byte)(&s.id), &m.Tenant, &m.Workflow, &m.Header.Version, &m.Key, &m.Home, &m.MachineVersion, (*int64)(&m.CreatedAt),
		&s.status, &m.Seq, (*int64)(&m.At), (*int64)(&m.StartedAt), (*int64)(&m.FinishedAt), &s.version, &s.options, &s.doc,
	}
}

// header completes the run but for its documents.
func (s *stateRow) header() {
	s.run.ID = s.id.String()
	s.run.Status = machine.Status(s.status)
}

// state reads the row's document.
func (s *stateRow) state() (store.RunState, error) {
	s.header()
	st := store.RunState{Run: &s.run, Version: s.version}
	if err := st.Run.SetRoot(s.doc); err != nil {
		return store.RunState{}, damage(s.run.ID, "root document", err)
	}
	var err error
	if st.Run.Options, err = machine.DecodeOptions(s.options); err != nil {
		return store.RunState{}, damage(s.run.ID, "options", err)
	}
	return st, nil
}

// broughtColumns are what a claim brings with the tasks p: the payload of their one entry, or those of their references and the
// documents around them, in the order in which their rows name them, NULL for what is not there. Each is a row of the primary
// key of journal, run_values or scopes; what a task does not name is not asked for.
const (
	broughtColumns = `
		case when p.entry > 0 then (select payload from millrace.journal where run = p.run and seq = p.entry) end as payload,
		case when p.refs is not null then array(
			select case when position(':' in x) = 0 then (select payload from millrace.journal where run = p.run and seq = x::int)
				else (select data from millrace.run_values where run = p.run and ref = x) end
			from unnest(p.refs) as x) end as payloads,
		case when p.documents is not null then array(
			select (select doc from millrace.scopes where run = p.run and path = x) from unnest(p.documents) as x) end as docs`
	taskColumns = `p.run, p.path, p.lane, p.priority, p.attempt, p.env, p.entry, p.refs, p.cause, p.lease_ms,
		p.rank + p.priority * 2000000::bigint`
)

// brought is a task's row with what came with it.
type brought struct {
	run   id
	task  store.Task
	lane  int64
	env   []byte
	entry int64
	refs  []string

	payload  []byte
	payloads [][]byte
	docs     [][]byte

	row stateRow
}

func (b *brought) taskTargets() []any {
	return []any{
		(*[16]byte)(&b.run), &b.task.Path, &b.lane, &b.task.Priority, &b.task.Attempt, &b.env, &b.entry, &b.refs, &b.task.Cause,
		&b.task.Lease, (*int64)(&b.task.ReadyAt),
	}
}

// targets gives where taskColumns, broughtColumns and stateColumns are read to.
func (b *brought) targets() []any {
	return append(append(b.taskTargets(), &b.payload, &b.payloads, &b.docs), b.row.targets()...)
}

// gather reads rows into claimed tasks, in order. Runs are read once; their documents come with the tasks.
type gather struct {
	runs map[id]*store.RunState
	rows []brought
}

func (g *gather) see(rows pgx.Rows) error {
	g.rows = append(g.rows, brought{})
	return rows.Scan(g.rows[len(g.rows)-1].targets()...)
}

// sort puts rows in the order of these lanes, each by rank.
func (g *gather) sort(lanes []store.LaneLimit) {
	place := make(map[int64]int, len(lanes))
	for i, l := range slices.Backward(lanes) {
		place[l.Lane] = i
	}
	slices.SortFunc(g.rows, func(a, b brought) int {
		return cmp.Or(cmp.Compare(place[a.lane], place[b.lane]), cmp.Compare(a.rank(), b.rank()), bytes.Compare(a.run[:], b.run[:]),
			cmp.Compare(a.task.Path, b.task.Path))
	})
}

func (b *brought) rank() int64 { return store.Rank(b.task.ReadyAt, b.task.Priority) }

// claimed gives the task of a row with all that came with it; an error that wraps ErrDamaged is that of its run alone.
func (g *gather) claimed(b *brought) (store.Claimed, error) {
	b.task.RunID = b.run.String()
	if err := decodeTask(&b.task, b.env, b.entry, b.refs); err != nil {
		return store.Claimed{}, err
	}
	state, err := g.state(b)
	if err != nil {
		return store.Claimed{}, err
	}
	return store.Claimed{Task: b.task, Run: state, Payloads: b.given()}, nil
}

func (g *gather) state(b *brought) (store.RunState, error) {
	st := g.runs[b.run]
	if st == nil {
		read, err := b.row.state()
		if err != nil {
			return store.RunState{}, err
		}
		st = &read
		if g.runs == nil {
			g.runs = map[id]*store.RunState{}
		}
		g.runs[b.run] = st
	}
	for i, path := range machine.Documents(b.task.Path) {
		if st.Run.Known(path) {
			continue
		}
		if err := putDocument(st.Run, path, at(b.docs, i)); err != nil {
			return store.RunState{}, err
		}
	}
	return *st, nil
}

// at gives an element of a list that may be shorter.
func at(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// given gives the payloads that came with the task.
func (b *brought) given() map[machine.Ref]json.RawMessage {
	out := make(map[machine.Ref]json.RawMessage, len(b.task.Refs))
	if b.payload != nil {
		out[machine.Ref{Seq: b.entry}] = b.payload
	}
	if b.refs == nil {
		return out
	}
	for i, ref := range b.task.Refs {
		if payload := at(b.payloads, i); payload != nil {
			out[ref] = payload
		}
	}
	return out
}

// decodeTask reads programs and references: both, or none of them.
func decodeTask(t *store.Task, env []byte, entry int64, list []string) error {
	decoded, err := machine.DecodeEnv(env)
	if err != nil {
		return damage(t.RunID, "task "+t.Path, err)
	}
	refs := make([]machine.Ref, 0, len(list)+1)
	if entry != 0 {
		refs = append(refs, machine.Ref{Seq: entry})
	}
	for _, text := range list {
		ref, err := machine.ParseRef(text)
		if err != nil {
			return damage(t.RunID, "task "+t.Path, fmt.Errorf("reference %q: %w", text, err))
		}
		refs = append(refs, ref)
	}
	t.Env, t.Refs = decoded, refs
	if len(refs) == 0 {
		t.Refs = nil
	}
	return nil
}

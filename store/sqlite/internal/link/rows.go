package link

import (
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// WorkflowColumns are those of workflows that WorkflowAt reads.
const WorkflowColumns = "tenant, name, version, hash, doc, created_at"

// WorkflowAt reads a definition.
func WorkflowAt(r *Row) store.Workflow {
	return store.Workflow{
		Tenant: r.ColumnText(0), Name: r.ColumnText(1), Version: r.ColumnInt(2), Hash: [32]byte(BytesAt(r, 3)),
		Doc: BytesAt(r, 4), CreatedAt: TimeAt(r, 5),
	}
}

// EntryColumns are those of journal that EntryAt reads.
const EntryColumns = "seq, at, kind, path, name, key, attempt, cause, payload, facts"

// EntryAt reads an entry of a journal.
func EntryAt(r *Row) store.Entry {
	return store.Entry{
		Seq: r.ColumnInt64(0), At: TimeAt(r, 1), Kind: machine.EventKind(r.ColumnText(2)), Path: r.ColumnText(3),
		Name: r.ColumnText(4), Key: r.ColumnText(5), Attempt: r.ColumnInt(6), Cause: r.ColumnInt64(7),
		Payload: BytesAt(r, 8), Facts: BytesAt(r, 9),
	}
}

// MessageColumns are those of inbox that MessageAt reads.
const MessageColumns = "seq, tenant, run, id, kind, at, path, name, key, attempt, cause, payload, facts"

// MessageAt reads a message.
func MessageAt(r *Row) store.Message {
	return store.Message{
		Seq: r.ColumnInt64(0), Tenant: r.ColumnText(1), RunID: IDAt(r, 2).String(), ID: r.ColumnText(3),
		Event: machine.Event{
			Kind: machine.EventKind(r.ColumnText(4)), At: TimeAt(r, 5), Path: r.ColumnText(6), Name: r.ColumnText(7),
			Key: r.ColumnText(8), Attempt: r.ColumnInt(9), Cause: r.ColumnInt64(10), Payload: BytesAt(r, 11), Facts: BytesAt(r, 12),
		},
	}
}

// TimerColumns are those of timers that TimerAt reads.
const TimerColumns = "run, key, tenant, due, cause"

// TimerAt reads a timer.
func TimerAt(r *Row) store.Timer {
	return store.Timer{
		RunID: IDAt(r, 0).String(), Key: r.ColumnText(1), Tenant: r.ColumnText(2), Due: TimeAt(r, 3), Cause: r.ColumnInt64(4),
	}
}

// LetterAt reads a dead letter: id, tenant, run, workflow, kind, path, error, state, created_at, closed_at.
func LetterAt(r *Row) store.Letter {
	return store.Letter{
		ID: r.ColumnInt64(0), Tenant: r.ColumnText(1), RunID: IDAt(r, 2).String(), Workflow: r.ColumnText(3),
		Kind: machine.LetterKind(r.ColumnText(4)), Path: r.ColumnText(5), Error: FailureAt(r, 6),
		State: machine.LetterState(r.ColumnText(7)), CreatedAt: TimeAt(r, 8), ClosedAt: TimeAt(r, 9),
	}
}

// ProcessColumns are those of processes that ProcessAt reads.
const ProcessColumns = "owner, host, pid, serves, draining, beat_at"

// ProcessAt reads a process.
func ProcessAt(r *Row) (store.ProcessRow, error) {
	p := store.ProcessRow{BeatAt: TimeAt(r, 5)}
	p.Owner, p.Host, p.PID, p.Draining = r.ColumnText(0), r.ColumnText(1), r.ColumnInt(2), r.ColumnBool(4)
	if err := json.Unmarshal([]byte(r.ColumnText(3)), &p.Serves); err != nil {
		return p, fmt.Errorf("what process %s serves: %w", p.Owner, err)
	}
	return p, nil
}

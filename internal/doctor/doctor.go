// Package doctor compares what is stored of a run with what its journal says, and mends what can be mended.
//
// Nouns: a ledger is what a journal leads to when it is replayed: documents, tasks, timers, letters; a sight is what lies in
// the store at one version; a [Finding] is a difference, or an invariant that does not hold.
//
// It works on a live database, in bounded pages, and holds no transaction: a run that changes while it is looked at is looked
// at again. The journal is the truth; one that is damaged itself is never mended. It imports store, machine and workflow.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// Doctor examines the runs of one store. It is safe for concurrent use.
type Doctor struct {
	// Store is where the runs are.
	Store store.Store
	// Definition gives the definition that a run was started with.
	Definition func(ctx context.Context, h machine.Header) (*workflow.Definition, error)
}

// Finding is something that is wrong with a run.
type Finding struct {
	Run      string
	Check    Check
	Message  string // what is wrong, in words
	Mendable bool   // Repair can do something about it
}

// Check names what was examined.
type Check string

// The checks.
const (
	Definition Check = "definition" // the workflow of the run can be read
	Journal    Check = "journal"    // it is numbered without gap, as long as the run says, and can be replayed
	Documents  Check = "documents"  // they are what the journal gives
	State      Check = "state"      // what the journal gives keeps the invariants
	Tasks      Check = "tasks"      // they are what the journal gives
	Timers     Check = "timers"     // they are what the journal gives
	Letters    Check = "letters"    // those that are open are those that the journal opened
	Values     Check = "values"     // what the machine computed is stored
	Ended      Check = "ended"      // an ended run has nothing live
)

const (
	lookTries = 5 // at a run that changes meanwhile
	pageSize  = 200
)

// errChanging: the run changed each time that it was looked at.
var errChanging = errors.New("the run changes too fast to be looked at as a whole")

// errGone: the run was removed while it was looked at.
var errGone = errors.New("the run is gone")

// Row finds the row of one run.
func (d *Doctor) Row(ctx context.Context, tenant, run string) (store.RunRow, error) {
	rows, err := d.Store.Runs(ctx, store.Filter{Tenant: tenant, Before: after(run), Limit: 1})
	if err != nil {
		return store.RunRow{}, fmt.Errorf("read run %s: %w", run, err)
	}
	if len(rows) == 0 || rows[0].ID != run {
		return store.RunRow{}, fmt.Errorf("run %s: %w", run, store.ErrNotFound)
	}
	return rows[0], nil
}

// after gives the id that follows in order.
func after(id string) string {
	b := []byte(id)
	for i := range slices.Backward(b) {
		switch b[i] {
		case '-':
		case 'f':
			b[i] = '0'
		case '9':
			b[i] = 'a'
			return string(b)
		default:
			b[i]++
			return string(b)
		}
	}
	return "" // of the last of all ids: the newest run comes first without a bound
}

// Examine gives what is wrong with a run whose row was read. whole is false when it changed each time that it was looked at,
// and nothing can be said. A run that was removed meanwhile has nothing wrong with it. The error is the store's.
func (d *Doctor) Examine(ctx context.Context, row *store.RunRow) (found []Finding, whole bool, err error) {
	l, s, err := d.look(ctx, row)
	switch {
	case errors.Is(err, errChanging):
		return nil, false, nil
	case errors.Is(err, errGone):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	return compare(l, s).found, true, nil
}

// Strays gives the messages that wait for runs of rows that had ended before they were read (invariant 1).
func (d *Doctor) Strays(ctx context.Context, rows []store.RunRow) ([]Finding, error) {
	waiting, err := d.waiting(ctx)
	if err != nil {
		return nil, fmt.Errorf("read inboxes: %w", err)
	}
	var found []Finding
	for i := range waiting {
		m := &waiting[i]
		k := slices.IndexFunc(rows, func(r store.RunRow) bool { return r.ID == m.RunID && r.Tenant == m.Tenant })
		if k >= 0 && rows[k].Status.Ended() {
			found = append(found, Finding{
				Run: m.RunID, Check: Ended, Message: fmt.Sprintf("it has ended, and message %d waits for it", m.Seq),
			})
		}
	}
	return found, nil
}

// waiting gives all messages that wait: how many that are shows in how many there are.
func (d *Doctor) waiting(ctx context.Context) ([]store.Message, error) {
	for limit := pageSize; ; limit *= 2 {
		messages, err := d.Store.Inbox(ctx, limit)
		if err != nil || len(messages) < limit {
			return messages, err
		}
	}
}

// look replays the journal and reads what is stored until both are of the same version.
func (d *Doctor) look(ctx context.Context, row *store.RunRow) (*ledger, *sight, error) {
	var l *ledger
	for range lookTries {
		if l == nil || l.damage != nil { // it may have been written meanwhile
			l = newLedger(d.Store, row.Header)
			if err := d.define(ctx, l, row); err != nil {
				return nil, nil, err
			}
		}
		s, err := d.see(ctx, row)
		if err != nil {
			return nil, nil, gone(err)
		}
		if err := l.read(ctx, row.Seq); err != nil {
			return nil, nil, gone(err)
		}
		now, err := d.Row(ctx, row.Tenant, row.ID)
		if err != nil {
			return nil, nil, gone(err)
		}
		if now.StateVersion == row.StateVersion {
			return l, s, nil
		}
		row = &now
	}
	return nil, nil, errChanging
}

// gone makes an error of a run that was found before and is not there any more.
func gone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return errGone
	}
	return err
}

// define gives a ledger the definition of its run. One that is missing or cannot be read is a damage; the error is the store's.
func (d *Doctor) define(ctx context.Context, l *ledger, row *store.RunRow) error {
	def, err := d.Definition(ctx, row.Header)
	var fault *store.StoreError
	switch {
	case err == nil:
		l.begin(ctx, def)
	case errors.As(err, &fault), ctx.Err() != nil:
		return err
	default:
		l.damage = &Finding{Run: row.ID, Check: Definition, Message: fmt.Sprintf(
			"workflow %s version %d cannot be read: %v", row.Workflow, row.Version, err)}
	}
	return nil
}

package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

const ripenAtOnce = 1000 // due tasks that one claim moves into the ready set

// Claim is [store.Worker.Claim]. It asks for the write lock only when there is something to take.
func (s *Store) Claim(ctx context.Context, ask store.Claim) ([]store.Claimed, error) {
	some, err := s.claimable(ctx, ask)
	if err != nil || !some {
		return nil, err
	}
	if err := s.owners.Hold(ctx, ask.Owner); err != nil {
		return nil, s.fault(ctx, "claim", err)
	}
	var out []store.Claimed
	err = s.writeMany(ctx, "claim", ask.Limit, func(c *conn) error {
		now := s.o.Clock()
		t := &taking{loader: newLoader(c), s: s, ask: ask, now: now}
		if err := t.take(); err != nil {
			return err
		}
		out = t.out
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const (
	// One probe of the due index.
	anyDueSQL = "select 1 from tasks indexed by tasks_due where state = 1 and due <= ? limit 1"
	// One probe of the primary key of lanes, and one of the ready index unless the lane is paused.
	anyReadySQL = `select 1 from tasks indexed by tasks_ready where lane = ?1 and state = 0
		and (select paused from lanes where id = ?1) = 0 limit 1`
	// The tasks of one run, in the primary key.
	anyOfRunSQL = "select 1 from tasks where run = ? and (state = 0 or state = 1 and due <= ?) limit 1"
)

// claimable says whether a claim may find something, on a snapshot and without the write lock.
func (s *Store) claimable(ctx context.Context, ask store.Claim) (some bool, err error) {
	if ask.Limit <= 0 {
		return false, nil
	}
	yes := func(*row) error { some = true; return nil }
	err = s.read(ctx, "claim", func(c *conn) error {
		now := s.o.Clock()
		if ask.Run != "" {
			run, _ := link.ParseID(ask.Run)
			_, err := c.One(anyOfRunSQL, yes, run, now)
			return err
		}
		if _, err := c.One(anyDueSQL, yes, now); err != nil {
			return err
		}
		for _, l := range ask.Lanes {
			if some {
				break
			}
			if _, err := c.One(anyReadySQL, yes, l.Lane); err != nil {
				return err
			}
		}
		return nil
	})
	return some, err
}

// taking is one claim under way.
type taking struct {
	*loader
	s     *Store
	ask   store.Claim
	now   machine.Time
	bytes int
	full  bool // the bound of bytes is reached
	out   []store.Claimed
}

const (
	// A range of the due index, oldest first. What is changed leaves the index, so that the next call goes on behind it.
	ripenSQL = `update tasks set state = 0, due = 0 where (run, path) in
		(select run, path from tasks indexed by tasks_due where state = 1 and due <= ? order by due limit 0 + ?)`
	// The tasks of one run, in the primary key.
	ripenRunSQL = "update tasks set state = 0, due = 0 where run = ? and state = 1 and due <= ?"

	// A task with its run and, when it refers to one entry of the journal and to nothing else, that entry's payload: what
	// nearly every task needs comes in the same row. Both are one row of a primary key; the cast of any other list of
	// references is 0, the number of no entry.
	candidateSQL = `select t.run, t.path, t.lane, t.priority, t.attempt, t.env, t.refs, t.cause, t.lease_ms, t.ready_at,
		j.seq, j.payload, ` + stateColumns + ` from tasks as t %s
		join runs as r on r.id = t.run
		left join journal as j on j.run = t.run and j.seq = cast(t.refs as integer) `
	takenSQL = `update tasks set state = 2, due = 0, attempt = attempt + 1, token = ?1, owner = ?2,
		lease_until = ?3 + iif(lease_ms > 0, lease_ms * 1000, ?4), claimed_at = ?3, stop = 0 where (run, path) `
	// One row of the primary key.
	leaseSQL = takenSQL + "= (?5, ?6)"
	// The first rows of the range that candidatesSQL walks, gathered before the first is changed.
	leaseFirstSQL = takenSQL + `in (select run, path from tasks indexed by tasks_ready
		where lane = ?5 and state = 0 order by rank, run, path limit 0 + ?6)`
)

var (
	// One range of the ready index, in its order: no sort. The write lock keeps everybody else out, so that nothing is held
	// by others and nothing is skipped.
	candidatesSQL = fmt.Sprintf(candidateSQL, "indexed by tasks_ready") +
		"where t.lane = ? and t.state = 0 order by t.rank, t.run, t.path limit 0 + ?"
	// The tasks of one run, few beside those of its lanes: sorted.
	candidatesOfRunSQL = fmt.Sprintf(candidateSQL, "") +
		"where t.run = ? and t.state = 0 and r.tenant = ? order by t.rank, t.path"
)

func (t *taking) take() error {
	if _, err := t.c.Exec(ripenSQL, t.now, ripenAtOnce); err != nil {
		return err
	}
	if t.ask.Run != "" {
		return t.takeOfRun()
	}
	for _, l := range t.ask.Lanes {
		n := min(l.Limit, t.ask.Limit-len(t.out))
		lane, found, err := t.s.lanes.find(t.c, l.Lane)
		if err != nil {
			return err
		}
		if n <= 0 || t.full || !found || lane.Paused {
			continue
		}
		ready, err := t.candidates(candidatesSQL, l.Lane, n)
		if err != nil {
			return err
		}
		taken, err := t.bring(ready)
		if err != nil {
			return err
		}
		// What cannot be read has left the range: the first of it are what was taken.
		if _, err := t.c.Exec(leaseFirstSQL, t.ask.Token, t.ask.Owner, t.now, t.ask.Lease.Microseconds(), l.Lane,
			len(taken)); err != nil {
			return err
		}
	}
	return nil
}

func (t *taking) takeOfRun() error {
	run, ok := link.ParseID(t.ask.Run)
	if !ok {
		return nil
	}
	if _, err := t.c.Exec(ripenRunSQL, run, t.now); err != nil {
		return err
	}
	all, err := t.candidates(candidatesOfRunSQL, run, t.ask.Tenant)
	if err != nil {
		return err
	}
	mine := slices.DeleteFunc(all, func(k candidate) bool {
		return k.task.Lane.Paused || !slices.Contains(t.ask.Handlers, k.task.Lane.Handler)
	})
	taken, err := t.bring(mine[:min(t.ask.Limit, len(mine))])
	if err != nil {
		return err
	}
	for _, k := range taken {
		if _, err := t.c.Exec(leaseSQL, t.ask.Token, t.ask.Owner, t.now, t.ask.Lease.Microseconds(), k.run,
			k.task.Path); err != nil {
			return err
		}
	}
	return nil
}

// candidate is a row of a ready task, its programs not read yet.
type candidate struct {
	run  id
	task store.Task
	env  []byte
	refs []byte
}

func (t *taking) candidates(query string, args ...any) ([]candidate, error) {
	var out []candidate
	err := t.c.Each(query, func(r *row) error {
		k := candidate{run: link.IDAt(r, 0), env: link.BytesAt(r, 5), refs: link.BytesAt(r, 6)}
		t.see(r, k.run)
		k.task = store.Task{
			Path: r.ColumnText(1), Priority: r.ColumnInt(3), Attempt: r.ColumnInt(4), Cause: r.ColumnInt64(7),
			Lease: r.ColumnInt64(8), ReadyAt: link.TimeAt(r, 9),
		}
		k.task.Lane.ID = r.ColumnInt64(2)
		out = append(out, k)
		return nil
	}, args...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		lane, _, err := t.s.lanes.find(t.c, out[i].task.Lane.ID)
		if err != nil {
			return nil, err
		}
		out[i].task.Lane = lane
		out[i].task.RunID = out[i].run.String()
	}
	return out, nil
}

// see keeps what a candidate's row tells of its run and of the payload it refers to.
func (t *taking) see(r *row, run id) {
	if _, ok := t.rows[run]; !ok {
		put(&t.rows, run, stateAt(r, 12))
	}
	if !r.ColumnIsNull(10) {
		put(&t.paid, paidFor{run, machine.Ref{Seq: r.ColumnInt64(10)}}, json.RawMessage(link.BytesAt(r, 11)))
	}
}

// bring adds candidates to the answer, in order until the bound of bytes, and gives those that it added. One whose run is
// damaged is set aside for a while, so that it stops no other.
func (t *taking) bring(candidates []candidate) (taken []*candidate, err error) {
	for i := range candidates {
		k := &candidates[i]
		claimed, size, err := t.load(k)
		if errors.Is(err, store.ErrDamaged) {
			if err := t.postpone(k); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if t.bytes += size; len(t.out) > 0 && t.bytes > cmp.Or(t.ask.Bytes, store.DefaultBytes) {
			t.full = true
			break
		}
		claimed.Attempt++
		claimed.Token = t.ask.Token
		t.out = append(t.out, claimed)
		taken = append(taken, k)
	}
	return taken, nil
}

func (t *taking) postpone(k *candidate) error {
	_, err := t.c.Exec("update tasks set state = 1, due = ? where run = ? and path = ?",
		t.now.Add(store.SetAside), k.run, k.task.Path)
	return err
}

func (t *taking) load(k *candidate) (store.Claimed, int, error) {
	if err := link.DecodeTask(&k.task, k.env, k.refs); err != nil {
		return store.Claimed{}, 0, err
	}
	state, err := t.state(k.run, machine.Documents(k.task.Path))
	if err != nil {
		return store.Claimed{}, 0, err
	}
	payloads, size, err := t.payloads(k.run, k.task.Refs)
	return store.Claimed{Task: k.task, Run: state, Payloads: payloads}, size, err
}

func leaseOf(t *store.Task, lease time.Duration) time.Duration {
	if t.Lease > 0 {
		return time.Duration(t.Lease) * time.Millisecond
	}
	return lease
}

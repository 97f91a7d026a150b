// Package pruning removes runs that ended long ago from a SQLite file, a bounded piece in each transaction.
//
// Nouns: a [Run] may go; what it costs to remove is counted in rows and pages; leftovers are what remains of a run that is gone
// itself; surplus is what is free in the file and not soon used again.
//
// It imports store, machine and the connection of SQLite.
package pruning

import (
	"crypto/sha256"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

const (
	lookedAt  = 5_000 // rows of runs that Find looks at
	maxCost   = 2_000 // of what one transaction removes: a row is 1, and 1 more for each page of its payload
	pageBytes = 4096
)

// Run is a run that may go.
type Run struct {
	store.PrunedRun
	id  link.ID
	key string
}

const (
	// A range of the primary key, oldest first: so many rows that it ends soon, whatever they are.
	agedSQL = `select id, tenant, workflow, status, finished_at, created_at, key from runs where id > ?
		order by id limit 0 + ?`
	// What keeps an ended run, in four probes of an index: nothing, for nearly all.
	neededSQL = `select exists (select 1 from dead_letters where run = ?1 and state = 'open')
		or exists (select 1 from tasks where run = ?1) or exists (select 1 from timers where run = ?1)
		or exists (select 1 from told join inbox using (seq) where told.run = ?1)`
)

// Find finds runs that may go, and where the walk goes on; "" when it is over.
func Find(c *link.Conn, o *store.PruneOrder) (out []Run, next string, err error) {
	rows, err := aged(c, o)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		p := &rows[i]
		if !o.Selects(&p.PrunedRun) {
			continue
		}
		needed, err := isNeeded(c, p.id)
		if err != nil {
			return nil, "", err
		}
		if needed {
			continue
		}
		if len(out) == o.Most() {
			return out, out[len(out)-1].RunID, nil
		}
		out = append(out, *p)
	}
	if len(rows) == lookedAt {
		next = rows[len(rows)-1].RunID
	}
	return out, next, nil
}

// aged gives the next rows of runs, those at the end left out that are too young, however they stand.
func aged(c *link.Conn, o *store.PruneOrder) (out []Run, err error) {
	after, _ := link.ParseID(o.After)
	latest, young := o.Latest(), false
	err = c.Each(agedSQL, func(r *link.Row) error {
		if young = young || link.TimeAt(r, 5) >= latest; young {
			return nil
		}
		p := Run{id: link.IDAt(r, 0), key: r.ColumnText(6)}
		p.PrunedRun = store.PrunedRun{
			Tenant: r.ColumnText(1), RunID: p.id.String(), Workflow: r.ColumnText(2), Status: machine.Status(r.ColumnText(3)),
			FinishedAt: link.TimeAt(r, 4),
		}
		out = append(out, p)
		return nil
	}, after, lookedAt)
	return out, err
}

func isNeeded(c *link.Conn, run link.ID) (needed bool, err error) {
	_, err = c.One(neededSQL, func(r *link.Row) error {
		needed = r.ColumnBool(0)
		return nil
	}, run)
	return needed, err
}

// Remove removes runs, in the transaction that is under way, until it has cost enough, and says how many of the list were
// dealt with: those that went on meanwhile are not among the removed.
func Remove(c *link.Conn, list []Run) (done int, removed []store.PrunedRun, err error) {
	left := maxCost
	for i := range list {
		if left <= 0 {
			return done, removed, nil
		}
		gone, err := removeRun(c, &list[i])
		if err != nil {
			return 0, nil, err
		}
		done++
		if !gone {
			continue
		}
		removed = append(removed, list[i].PrunedRun)
		cost, all, err := strip(c, list[i].id, left)
		if err != nil {
			return 0, nil, err
		}
		if left -= cost + 1; !all {
			if _, err := c.Exec("insert into leftovers values (?)", list[i].id); err != nil {
				return 0, nil, err
			}
		}
	}
	return done, removed, nil
}

const (
	// One row of the primary key; it may have gone on since it was looked at.
	forgetSQL = "delete from runs where id = ? and status = ? and finished_at = ?"
	// A range of the primary key: what was delivered.
	forgetToldSQL = "delete from told where run = ?"
	// A range of the index of a run's letters.
	forgetLettersSQL = "delete from dead_letters where run = ?"
	// One row of the primary key.
	forgetKeySQL = "delete from run_keys where tenant = ? and workflow = ? and key = ? and run = ? returning hash"
	tombstoneSQL = "insert into key_tombstones values (?, ?, ?, ?, ?)"
)

// removeRun removes a run's row, letters and key; false if it must stay after all.
func removeRun(c *link.Conn, p *Run) (bool, error) {
	same, err := c.One("select 1 from runs where id = ? and status = ? and finished_at = ?", func(*link.Row) error { return nil },
		p.id, string(p.Status), p.FinishedAt)
	if !same || err != nil {
		return false, err
	}
	if needed, err := isNeeded(c, p.id); needed || err != nil {
		return false, err
	}
	for _, query := range []string{forgetToldSQL, forgetLettersSQL} {
		if _, err := c.Exec(query, p.id); err != nil {
			return false, err
		}
	}
	if _, err := c.Exec(forgetSQL, p.id, string(p.Status), p.FinishedAt); err != nil {
		return false, err
	}
	return true, entomb(c, p)
}

// entomb leaves a tombstone of a run's key.
func entomb(c *link.Conn, p *Run) error {
	if p.key == "" {
		return nil
	}
	var hash []byte
	found, err := c.One(forgetKeySQL, func(r *link.Row) error {
		hash = link.BytesAt(r, 0)
		return nil
	}, p.Tenant, p.Workflow, p.key, p.id)
	if !found || err != nil {
		return err
	}
	_, err = c.Exec(tombstoneSQL, p.Tenant, p.Workflow, sha256.Sum256([]byte(p.key)), p.id, hash)
	return err
}

// part is a table that holds rows of runs.
type part struct{ find, remove string }

// Each is a range of the primary key that begins with the run: as many rows as may go are looked at, without their payloads,
// and then removed up to the last of them.
var parts = []part{
	{
		"select ifnull(length(payload), 0) + ifnull(length(facts), 0), seq from journal where run = ? order by seq limit 0 + ?",
		"delete from journal where run = ? and seq <= ?",
	},
	{
		"select ifnull(length(data), 0), key, idx from run_values where run = ? order by key, idx limit 0 + ?",
		"delete from run_values where run = ? and (key, idx) <= (?, ?)",
	},
	{
		"select length(doc), path from scopes where run = ? order by path limit 0 + ?",
		"delete from scopes where run = ? and path <= ?",
	},
}

// Statements gives what this package asks of the database, for those who look at how it is carried out.
func Statements() []string {
	all := []string{agedSQL, neededSQL, forgetSQL, forgetLettersSQL, forgetKeySQL}
	for _, p := range parts {
		all = append(all, p.find, p.remove)
	}
	return all
}

// strip removes what a run that is gone has left behind, for at most a cost of left, and says whether that was all.
func strip(c *link.Conn, run link.ID, left int) (cost int, all bool, err error) {
	for _, p := range parts {
		if left-cost <= 0 {
			return cost, false, nil
		}
		n, whole, err := p.strip(c, run, left-cost)
		if cost += n; err != nil || !whole {
			return cost, false, err
		}
	}
	return cost, true, nil
}

func (p part) strip(c *link.Conn, run link.ID, left int) (cost int, all bool, err error) {
	var last []any // the primary key of the last row that goes, after the run
	rows, full := 0, false
	err = c.Each(p.find, func(r *link.Row) error {
		if full = full || cost >= left; full {
			return nil
		}
		rows++
		cost += 1 + r.ColumnInt(0)/pageBytes
		last = []any{run}
		for col := 1; col < r.ColumnCount(); col++ {
			last = append(last, keyAt(r, col))
		}
		return nil
	}, run, left)
	if rows == 0 || err != nil {
		return 0, true, err
	}
	_, err = c.Exec(p.remove, last...)
	return cost, !full && rows < left, err
}

// keyAt reads a column of a primary key: a number or a text.
func keyAt(r *link.Row, col int) any {
	if r.ColumnType(col) == sqlite.TypeInteger {
		return r.ColumnInt64(col)
	}
	return r.ColumnText(col)
}

// Leftovers gives a run that is gone and of which something is left; false when there is none.
func Leftovers(c *link.Conn) (run link.ID, some bool, err error) {
	some, err = c.One("select run from leftovers limit 1", func(r *link.Row) error {
		run = link.IDAt(r, 0)
		return nil
	})
	return run, some, err
}

// Clear removes what is left of a run that is gone, in the transaction that is under way, until it has cost enough.
func Clear(c *link.Conn, run link.ID) error {
	_, all, err := strip(c, run, maxCost)
	if all && err == nil {
		_, err = c.Exec("delete from leftovers where run = ?", run)
	}
	return err
}

const (
	vacuumPages = 256 // that one transaction moves
	slackPages  = 256 // that stay free: what is written next needs no new ones
	slackPart   = 8   // and the part of the file that does
)

// Shorten shortens the file by some of the surplus, in the transaction that is under way: SQLite moves pages from its end to
// free places. It gives how many pages were free before; 0 when there is no surplus.
func Shorten(c *link.Conn) (int, error) {
	free, all, err := space(c)
	surplus := free - max(slackPages, all/slackPart)
	if surplus <= 0 || err != nil {
		return 0, err
	}
	n := min(surplus, vacuumPages)
	c.Written += n // the log grows by pages as it does by rows
	return free, c.Each(fmt.Sprintf("pragma incremental_vacuum(%d)", n), func(*link.Row) error { return nil })
}

// space gives how many pages of the file are free, and how many there are.
func space(c *link.Conn) (free, all int, err error) {
	_, err = c.One("pragma freelist_count", func(r *link.Row) error { free = r.ColumnInt(0); return nil })
	if err != nil {
		return 0, 0, err
	}
	_, err = c.One("pragma page_count", func(r *link.Row) error { all = r.ColumnInt(0); return nil })
	return free, all, err
}

package listing

import (
	"cmp"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// LaneColumns are those of lanes that LaneAt reads.
const LaneColumns = "id, tenant, queue, handler, workflow, paused"

// LaneAt reads a lane from the columns from col on.
func LaneAt(r *link.Row, col int) store.Lane {
	return store.Lane{
		ID: r.ColumnInt64(col), Tenant: r.ColumnText(col + 1), Queue: r.ColumnText(col + 2),
		Handler: r.ColumnText(col + 3), Workflow: r.ColumnText(col + 4), Paused: r.ColumnBool(col + 5),
	}
}

const (
	// StockedSQL makes one probe of the ready index for each lane that holds a task, and one for the end: from the first task of a lane to the
	// first of the next.
	StockedSQL = `with recursive stock (lane) as (
		select min(lane) from tasks indexed by tasks_ready where state = 0 and lane > ?1
		union all
		select (select min(lane) from tasks indexed by tasks_ready where state = 0 and lane > stock.lane)
			from stock where stock.lane is not null limit 0 + ?2)
		select ` + LaneColumns + ` from stock cross join lanes on id = lane`
	// RipeSQL reads the first of the due index: as many rows as the next claim moves into the ready set.
	RipeSQL = "select lane from tasks indexed by tasks_due where state = 1 and due <= ? order by due limit 0 + ?"
	// LaneSQL reads one lane.
	LaneSQL = "select " + LaneColumns + " from lanes where id = ?"
)

// QueuesSQL walks the live tasks once; ended ones have no row. A person asks it now and then, nothing hot does.
const QueuesSQL = `select l.id, l.tenant, l.queue, l.handler, l.workflow, l.paused,
		sum(t.ready), sum(t.state = 1 and not t.ready), sum(t.state = 2), sum(t.state = 3),
		ifnull(min(case t.ready when 1 then t.ready_at end), 0)
	from (select *, state = 0 or state = 1 and due <= ?2 as ready from tasks) as t join lanes as l on l.id = t.lane
	where l.tenant = ?1
	group by l.id order by l.queue, l.handler, l.workflow`

// DepthAt reads what QueuesSQL counts.
func DepthAt(r *link.Row) store.Depth {
	return store.Depth{
		Lane: LaneAt(r, 0), Ready: r.ColumnInt(6), Delayed: r.ColumnInt(7), Leased: r.ColumnInt(8), Held: r.ColumnInt(9),
		Oldest: link.TimeAt(r, 10),
	}
}

// Stocked gives the lanes behind after that hold a ready task, or one of the ripe first that are due now, by id.
func Stocked(c *link.Conn, after int64, limit int, now machine.Time, ripe int) (out []store.Lane, err error) {
	if limit <= 0 {
		return nil, nil
	}
	seen := map[int64]bool{}
	add := func(r *link.Row) error {
		out = append(out, LaneAt(r, 0))
		seen[r.ColumnInt64(0)] = true
		return nil
	}
	if err := c.Each(StockedSQL, add, after, limit); err != nil {
		return nil, err
	}
	var more []int64
	err = c.Each(RipeSQL, func(r *link.Row) error {
		if id := r.ColumnInt64(0); id > after && !seen[id] {
			seen[id] = true
			more = append(more, id)
		}
		return nil
	}, now, ripe)
	if err != nil {
		return nil, err
	}
	for _, id := range more {
		if _, err := c.One(LaneSQL, add, id); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b store.Lane) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(limit, len(out))], nil
}

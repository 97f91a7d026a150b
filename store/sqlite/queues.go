package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
	"github.com/millrace-go/millrace/store/sqlite/internal/listing"
)

// queuesSQL walks the live tasks once; ended ones have no row. A person asks it now and then, nothing hot does.
const queuesSQL = `select l.id, l.tenant, l.queue, l.handler, l.workflow, l.paused,
		sum(t.ready), sum(t.state = 1 and not t.ready), sum(t.state = 2), sum(t.state = 3),
		ifnull(min(case t.ready when 1 then t.ready_at end), 0)
	from (select *, state = 0 or state = 1 and due <= ?2 as ready from tasks) as t join lanes as l on l.id = t.lane
	where l.tenant = ?1
	group by l.id order by l.queue, l.handler, l.workflow`

// Queues is [store.Reader.Queues].
func (s *Store) Queues(ctx context.Context, tenant string) (out []store.Depth, err error) {
	err = s.read(ctx, "queues", func(c *conn) error {
		return c.Each(queuesSQL, func(r *row) error {
			out = append(out, store.Depth{
				Lane: listing.LaneAt(r, 0), Ready: r.ColumnInt(6), Delayed: r.ColumnInt(7), Leased: r.ColumnInt(8), Held: r.ColumnInt(9),
				Oldest: link.TimeAt(r, 10),
			})
			return nil
		}, tenant, s.o.Clock())
	})
	return out, err
}

// Processes is [store.Reader.Processes].
func (s *Store) Processes(ctx context.Context) (out []store.ProcessRow, err error) {
	err = s.read(ctx, "processes", func(c *conn) error {
		return c.Each("select owner, host, pid, serves, draining, beat_at from processes order by owner", func(r *row) error {
			p := store.ProcessRow{BeatAt: link.TimeAt(r, 5)}
			p.Owner, p.Host, p.PID, p.Draining = r.ColumnText(0), r.ColumnText(1), r.ColumnInt(2), r.ColumnBool(4)
			if err := json.Unmarshal([]byte(r.ColumnText(3)), &p.Serves); err != nil {
				return fmt.Errorf("what process %s serves: %w", p.Owner, err)
			}
			out = append(out, p)
			return nil
		})
	})
	return out, err
}

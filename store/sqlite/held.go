package sqlite

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// All of the lease index: as many rows as there are held tasks. Asked only after an answer was lost.
const heldUnderSQL = "select " + liveColumns + ` from tasks as t indexed by tasks_leased join lanes as l on l.id = t.lane
	where t.state = 2 and t.owner = ? and t.token = ? order by t.run, t.path`

// HeldBy is [store.Worker.HeldBy].
func (s *Store) HeldBy(ctx context.Context, owner string, token int64) (out []store.Claimed, err error) {
	err = s.read(ctx, "held by", func(c *conn) error {
		var rows []store.Live
		err := eachLive(c, heldUnderSQL, func(l *store.Live, damage error) {
			if damage == nil {
				rows = append(rows, *l)
			}
		}, owner, token)
		if err != nil {
			return err
		}
		l := newLoader(c)
		for i := range rows {
			claimed, err := l.claimed(&rows[i])
			switch {
			case errors.Is(err, store.ErrDamaged):
			case err != nil:
				return err
			default:
				out = append(out, claimed)
			}
		}
		return nil
	})
	return out, err
}

// claimed gives a task with what its claim brought along.
func (l *loader) claimed(row *store.Live) (store.Claimed, error) {
	run, _ := link.ParseID(row.RunID)
	state, err := l.state(run, machine.Documents(row.Path))
	if err != nil {
		return store.Claimed{}, err
	}
	payloads, _, err := l.payloads(run, row.Refs)
	return store.Claimed{Task: row.Task, Token: row.Token, Run: state, Payloads: payloads}, err
}

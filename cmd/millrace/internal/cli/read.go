package cli

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/reading"
)

// withClient calls use with a client of the database that must be there.
func withClient[T any](ctx context.Context, a *app, use func(*millrace.Client) (T, error)) (T, error) {
	st, _, err := a.open(ctx)
	if err != nil {
		var none T
		return none, err
	}
	out, err := use(millrace.NewClient(st))
	return out, errors.Join(err, st.Close())
}

// read opens the database and lets use read in it.
func (a *app) read(ctx context.Context, use func(*reading.Desk) error) error {
	st, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	d := a.reader()
	d.Client, d.Logs = millrace.NewClient(st), db.logs()
	return errors.Join(use(d), st.Close())
}

// list is read for a list, which is empty where there is no database yet.
func (a *app) list(ctx context.Context, use func(*reading.Desk) error) error {
	err := a.read(ctx, use)
	if errors.Is(err, errNoDatabase) {
		return use(a.reader())
	}
	return err
}

func (a *app) reader() *reading.Desk {
	return &reading.Desk{Desk: a.plainDesk(), Patience: followPatience}
}

// plainDesk gives a desk without a client.
func (a *app) plainDesk() desk.Desk {
	return desk.Desk{Tenant: a.tenant, Out: a.out, Err: a.err, JSON: a.json, Width: columns(a.out), Style: style(a.out)}
}

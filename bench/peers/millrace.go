package main

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/bench/internal/ceiling"
	"github.com/millrace-go/millrace/bench/internal/drive"
)

// millraceSystem is Millrace with either store.
type millraceSystem struct {
	target
	db drive.Database
}

func millraceOn(open func(t target) drive.Database) func(target) subject {
	return func(t target) subject { return millraceSystem{t, open(t)} }
}

func onSQLite(t target) drive.Database { return drive.SQLite(t.Path) }

func onServer(t target) drive.Database { return drive.Postgres(t.URL) }

func (s shape) millrace() drive.Shape {
	switch s.kind {
	case "fork":
		return drive.Fork(s.n)
	case "saga":
		return drive.Saga(s.n)
	}
	return drive.Steps(s.n)
}

// with has a bench do something.
func (m millraceSystem) with(ctx context.Context, sh shape, do func(*drive.Bench) error) error {
	return m.withSlots(ctx, sh, m.Knobs["slots"], do)
}

func (m millraceSystem) withSlots(ctx context.Context, sh shape, slots int, do func(*drive.Bench) error) error {
	b, err := drive.OpenWith(ctx, m.db, sh.millrace(), slots)
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}

func (m millraceSystem) prepare(ctx context.Context, ended int) error {
	if ended == 0 {
		return m.with(ctx, one, func(*drive.Bench) error { return nil })
	}
	return drive.Age(ctx, m.db, one.millrace(), ended)
}

func (m millraceSystem) load(ctx context.Context, sh shape, n int) error {
	return m.with(ctx, sh, func(b *drive.Bench) error { return b.Start(ctx, n) })
}

func (m millraceSystem) drive(ctx context.Context, sh shape, n int) (took time.Duration, err error) {
	err = m.with(ctx, sh, func(b *drive.Bench) error {
		took, err = b.Drive(ctx, n, nil)
		return err
	})
	return took, err
}

func (m millraceSystem) verify(ctx context.Context, sh shape, n, _ int) error {
	return m.with(ctx, sh, func(b *drive.Bench) error { return b.Verify(ctx, n, sh.millrace()) })
}

func (m millraceSystem) oneByOne(ctx context.Context, sh shape, n int) (times []time.Duration, err error) {
	err = m.with(ctx, sh, func(b *drive.Bench) error {
		times, err = b.OneByOne(ctx, n)
		return err
	})
	return times, err
}

func (m millraceSystem) starts(ctx context.Context, callers, n int) (took time.Duration, err error) {
	err = m.with(ctx, one, func(b *drive.Bench) error {
		if callers > 0 {
			took, err = b.StartAlone(ctx, callers, n/callers)
			return err
		}
		began := time.Now()
		err := b.Start(ctx, n)
		took = time.Since(began)
		return err
	})
	return took, err
}

func (m millraceSystem) probes(ctx context.Context, flood, n int) (times []time.Duration, err error) {
	err = m.withSlots(ctx, one, m.Knobs["slots_w9"], func(b *drive.Bench) error {
		times, err = b.Probes(ctx, flood, n)
		return err
	})
	return times, err
}

// ceilingSystem writes what the storage plan of Millrace writes, and nothing else. On a file the whole measurement is one call.
type ceilingSystem struct{ target }

func onCeiling(t target) subject { return ceilingSystem{t} }

func (c ceilingSystem) plan(sh shape, n int) ceiling.Load {
	return ceiling.Load{Runs: n, Steps: sh.n, Batch: c.Knobs["batch"]}
}

func (ceilingSystem) prepare(_ context.Context, ended int) error {
	if ended > 0 {
		return errCannot
	}
	return nil
}

func (c ceilingSystem) load(ctx context.Context, sh shape, n int) error {
	if sh.kind != "chain" {
		return errCannot
	}
	if c.URL == "" {
		return nil
	}
	_, err := ceiling.Prepare(ctx, c.URL, c.plan(sh, n))
	return err
}

func (c ceilingSystem) drive(ctx context.Context, sh shape, n int) (time.Duration, error) {
	measure := func() (ceiling.Figure, error) { return ceiling.Finish(ctx, c.URL, c.plan(sh, n), c.Knobs["loops"]) }
	if c.URL == "" {
		measure = func() (ceiling.Figure, error) { return ceiling.Measure(ctx, c.Path, c.plan(sh, n)) }
	}
	f, err := measure()
	if err != nil {
		return 0, err
	}
	return time.Duration(float64(n) / f.Runs * float64(time.Second)), nil
}

// verify does nothing: the ceiling has counted its rows.
func (ceilingSystem) verify(context.Context, shape, int, int) error { return nil }

func (ceilingSystem) oneByOne(context.Context, shape, int) ([]time.Duration, error) {
	return nil, errCannot
}

func (c ceilingSystem) starts(ctx context.Context, callers, n int) (time.Duration, error) {
	if callers > 0 {
		return 0, errCannot
	}
	if c.URL == "" {
		f, err := ceiling.Measure(ctx, c.Path, ceiling.Load{Runs: n, Steps: 1, Batch: 1, Limit: 1})
		return time.Duration(float64(n) / f.Starts * float64(time.Second)), err
	}
	perSecond, err := ceiling.Prepare(ctx, c.URL, c.plan(one, n))
	return time.Duration(float64(n) / perSecond * float64(time.Second)), err
}

func (ceilingSystem) probes(context.Context, int, int) ([]time.Duration, error) {
	return nil, errCannot
}

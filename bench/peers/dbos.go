package main

import (
	"context"
	"errors"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // its driver for files
	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

const (
	dbosName  = "bench"
	dbosQueue = "backlog"
)

// dbosSystem is DBOS Transact. Direct: a run is a call in the caller's process, whose steps are checkpoints. Queued: it is
// enqueued, and workers of a queue take it up. On a file the settings are its own (synchronous=NORMAL).
type dbosSystem struct {
	target
	queued bool
	table  string // prefix of its tables' names
}

func dbosOn(queued bool) func(target) subject {
	return func(t target) subject {
		s := dbosSystem{target: t, queued: queued}
		if t.URL != "" {
			s.table = "dbos."
		}
		return s
	}
}

func (s dbosSystem) database() string {
	if s.URL == "" {
		return "sqlite:" + s.Path
	}
	return s.URL
}

// run is the workflow of all shapes.
func (s dbosSystem) run(t *tally, sh shape) dbos.Workflow[drive.Payload, drive.Payload] {
	step := func(context.Context) (drive.Payload, error) { return t.work() }
	refuse := func(context.Context) (drive.Payload, error) { return drive.Payload{}, errRefused }
	sequence := func(ctx dbos.Context, n int) (p drive.Payload, err error) {
		for range n {
			if p, err = dbos.RunAsStep(ctx, step, dbos.WithStepName("step")); err != nil {
				return p, err
			}
		}
		return p, nil
	}
	return func(ctx dbos.Context, _ drive.Payload) (drive.Payload, error) {
		switch sh.kind {
		case "fork":
			if err := fork(ctx, sh.n, step); err != nil {
				return drive.Payload{}, err
			}
			return sequence(ctx, 1)
		case "saga":
			if p, err := sequence(ctx, sh.n); err != nil {
				return p, err
			}
			if _, err := dbos.RunAsStep(ctx, refuse, dbos.WithStepName("refuse")); err != nil {
				_, failed := sequence(ctx, sh.n)
				return drive.Payload{}, errors.Join(err, failed)
			}
			return drive.Payload{}, errors.New("nothing was refused")
		}
		return sequence(ctx, sh.n)
	}
}

func fork(ctx dbos.Context, n int, step dbos.Step[drive.Payload]) error {
	branches := make([]<-chan dbos.StepOutcome[drive.Payload], n)
	for i := range branches {
		var err error
		if branches[i], err = dbos.Go(ctx, step); err != nil {
			return err
		}
	}
	for _, b := range branches {
		if outcome := <-b; outcome.Err != nil {
			return outcome.Err
		}
	}
	return nil
}

// working has a launched context do something. It listens to the queues named, and to no other.
func (s dbosSystem) working(ctx context.Context, t *tally, sh shape, do func(dbos.Context, dbos.Workflow[drive.Payload, drive.Payload]) error, queues ...string) error {
	app, err := dbos.NewContext(ctx, dbos.Config{AppName: dbosName, DatabaseURL: s.database(), Logger: quiet, ApplicationVersion: "1"})
	if err != nil {
		return err
	}
	body := s.run(t, sh)
	flow := func(ctx dbos.Context, in drive.Payload) (drive.Payload, error) { return body(ctx, in) }
	dbos.RegisterWorkflow(app, flow, dbos.WithWorkflowName(dbosName))
	if len(queues) == 0 {
		queues = []string{"none"}
	}
	dbos.ListenQueues(app, queues...)
	if err := dbos.Launch(app); err != nil {
		return err
	}
	return errors.Join(do(app, flow), dbos.Shutdown(app, time.Minute))
}

func (s dbosSystem) prepare(ctx context.Context, ended int) error {
	err := s.working(ctx, newTally(1), one, func(app dbos.Context, flow dbos.Workflow[drive.Payload, drive.Payload]) error {
		for _, q := range []string{dbosQueue, otherQueue} {
			_, err := dbos.RegisterQueue(app, q, dbos.WithWorkerConcurrency(s.Knobs["workers"]),
				dbos.WithQueueBasePollingInterval(time.Duration(s.Knobs["poll_ms"])*time.Millisecond))
			if err != nil {
				return err
			}
		}
		if ended == 0 {
			return nil
		}
		return call(app, flow)
	})
	if err != nil {
		return err
	}
	aged := map[string]string{"workflow_uuid": "'aged-' || i"}
	var tables []copied
	for _, name := range []string{"workflow_status", "workflow_input", "workflow_output", "operation_outputs"} {
		tables = append(tables, copied{s.table + name, aged})
	}
	return s.multiply(ctx, max(ended-1, 0), tables...)
}

// call runs a workflow in this process to its end.
func call(app dbos.Context, flow dbos.Workflow[drive.Payload, drive.Payload]) error {
	handle, err := dbos.RunWorkflow(app, flow, drive.Sample())
	if err != nil {
		return err
	}
	_, err = handle.GetResult()
	return unlessRefused(err)
}

// unlessRefused lets the failure pass that a saga is meant to end with.
func unlessRefused(err error) error {
	if err != nil && errors.Is(err, errRefused) {
		return nil
	}
	return err
}

func (s dbosSystem) load(ctx context.Context, _ shape, n int) error {
	if !s.queued || n == 0 {
		return nil
	}
	_, err := s.enqueue(ctx, n)
	return err
}

// enqueue enqueues runs, 500 in a transaction of the caller's.
func (s dbosSystem) enqueue(ctx context.Context, n int) (took time.Duration, err error) {
	pool, err := s.pool(ctx, 2)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	client, err := s.client(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for n > 0 && err == nil {
		some := min(n, drive.Bulk)
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for range some {
				_, err := dbos.Enqueue[drive.Payload](client, dbosQueue, dbosName, drive.Sample(), dbos.WithEnqueueTransaction(tx))
				if err != nil {
					return err
				}
			}
			return nil
		})
		n -= some
	}
	return time.Since(began), errors.Join(err, dbos.Shutdown(client, time.Minute))
}

func (s dbosSystem) client(ctx context.Context) (dbos.Client, error) {
	return dbos.NewClient(ctx, dbos.ClientConfig{AppName: dbosName, DatabaseURL: s.database(), Logger: quiet})
}

func (s dbosSystem) drive(ctx context.Context, sh shape, n int) (took time.Duration, err error) {
	t := newTally(n)
	queues := []string{}
	if s.queued {
		queues = append(queues, dbosQueue)
	}
	err = s.working(ctx, t, sh, func(app dbos.Context, flow dbos.Workflow[drive.Payload, drive.Payload]) error {
		if !s.queued {
			took, err = sideBySide(s.Knobs["callers"], n, func() error { return call(app, flow) })
			return err
		}
		db, err := s.look(ctx)
		if err != nil {
			return err
		}
		err = s.pollEnds(ctx, db)
		took = time.Since(t.began)
		return errors.Join(err, db.Close())
	}, queues...)
	return took, err
}

// pollEnds asks for the runs that wait or are executed: a workflow that has returned is not stored yet.
func (s dbosSystem) pollEnds(ctx context.Context, db rows) error {
	return seldomThenOften(ctx, 0, func() (int, error) {
		left, err := db.ask(ctx, "select count(*) from "+s.table+"workflow_status where status in ('ENQUEUED', 'PENDING')")
		return -left, err
	})
}

func (s dbosSystem) verify(ctx context.Context, sh shape, n, before int) error {
	return s.counted(ctx, map[string]int{
		"select count(*) from " + s.table + "workflow_status where status in ('SUCCESS', 'ERROR')": n + before,
		"select count(*) from " + s.table + "workflow_status":                                      n + before,
		"select count(*) from " + s.table + "operation_outputs":                                    n*sh.steps() + before,
	})
}

func (s dbosSystem) oneByOne(ctx context.Context, sh shape, n int) ([]time.Duration, error) {
	if s.queued {
		return s.ask(ctx, sh, n, dbosQueue)
	}
	var times []time.Duration
	err := s.working(ctx, newTally(n), sh, func(app dbos.Context, flow dbos.Workflow[drive.Payload, drive.Payload]) error {
		for range n {
			began := time.Now()
			if err := call(app, flow); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		return nil
	})
	return times, err
}

// ask enqueues runs one by one and waits for each, by the polling of its handle.
func (s dbosSystem) ask(ctx context.Context, sh shape, n int, queue string) (times []time.Duration, err error) {
	err = s.working(ctx, newTally(n), sh, func(app dbos.Context, _ dbos.Workflow[drive.Payload, drive.Payload]) error {
		for range n {
			began := time.Now()
			handle, err := dbos.Enqueue[drive.Payload](app, queue, dbosName, drive.Sample())
			if err != nil {
				return err
			}
			_, err = handle.GetResult(dbos.WithHandlePollingInterval(time.Duration(s.Knobs["wait_ms"]) * time.Millisecond))
			if err := unlessRefused(err); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		return nil
	}, dbosQueue, otherQueue)
	return times, err
}

func (s dbosSystem) starts(ctx context.Context, callers, n int) (took time.Duration, err error) {
	if !s.queued {
		return 0, errCannot // its starts are its runs
	}
	if callers == 0 {
		return s.enqueue(ctx, n)
	}
	client, err := s.client(ctx)
	if err != nil {
		return 0, err
	}
	took, err = sideBySide(callers, n, func() error {
		_, err := dbos.Enqueue[drive.Payload](client, dbosQueue, dbosName, drive.Sample())
		return err
	})
	return took, errors.Join(err, dbos.Shutdown(client, time.Minute))
}

// probes gives the second tenant a queue of its own.
func (s dbosSystem) probes(ctx context.Context, flood, n int) ([]time.Duration, error) {
	if !s.queued {
		return nil, errCannot
	}
	if err := s.load(ctx, one, flood); err != nil {
		return nil, err
	}
	times, err := s.ask(ctx, one, n, otherQueue)
	return times, errors.Join(err, s.floodLasts(ctx, flood, "select count(*) from "+s.table+"workflow_status where status = 'ENQUEUED'"))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/history"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/registry"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// goWorkflows is go-workflows on a file, with the backend that tells its own worker of work.
type goWorkflows struct{ target }

func onWorkflows(t target) subject { return goWorkflows{t} }

func (g goWorkflows) open() backend.Backend {
	return monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(g.Path, sqlite.WithBackendOptions(backend.WithLogger(quiet))))
}

// activities are its steps, which it knows by the names of their methods.
type activities struct{ tally *tally }

// Step returns the payload.
func (a *activities) Step(context.Context, drive.Payload) (drive.Payload, error) {
	return a.tally.work()
}

// Refuse fails for good.
func (*activities) Refuse(context.Context, drive.Payload) (drive.Payload, error) {
	return drive.Payload{}, workflow.NewPermanentError(errRefused)
}

// flow is the workflow of all shapes.
func (g goWorkflows) flow(steps *activities, sh shape) func(workflow.Context, drive.Payload) (drive.Payload, error) {
	begin := func(ctx workflow.Context, activity workflow.Activity) workflow.Future[drive.Payload] {
		return workflow.ExecuteActivity[drive.Payload](ctx, workflow.DefaultActivityOptions, activity, drive.Sample())
	}
	sequence := func(ctx workflow.Context, n int) (p drive.Payload, err error) {
		for range n {
			if p, err = begin(ctx, steps.Step).Get(ctx); err != nil {
				return p, err
			}
		}
		return p, nil
	}
	return func(ctx workflow.Context, _ drive.Payload) (p drive.Payload, err error) {
		switch sh.kind {
		case "fork":
			branches := make([]workflow.Future[drive.Payload], sh.n)
			for i := range branches {
				branches[i] = begin(ctx, steps.Step)
			}
			for _, b := range branches {
				if p, err = b.Get(ctx); err != nil {
					return p, err
				}
			}
			return sequence(ctx, 1)
		case "saga":
			if p, err = sequence(ctx, sh.n); err != nil {
				return p, err
			}
			if _, err = begin(ctx, steps.Refuse).Get(ctx); err == nil {
				return p, errors.New("nothing was refused")
			}
			_, failed := sequence(ctx, sh.n)
			return p, errors.Join(err, failed)
		}
		return sequence(ctx, sh.n)
	}
}

// working has a worker work while something is done.
func (g goWorkflows) working(ctx context.Context, t *tally, sh shape, do func(*client.Client) error) (err error) {
	b := g.open()
	defer func() { err = errors.Join(err, b.Close()) }()
	options := worker.DefaultOptions
	options.WorkflowExecutorCacheSize = g.Knobs["cache"]
	options.WorkflowPollers, options.ActivityPollers = g.Knobs["pollers"], g.Knobs["pollers"]
	w := worker.New(b, &options)
	steps := &activities{t}
	err = errors.Join(w.RegisterWorkflow(g.flow(steps, sh), registry.WithName(dbosName)), w.RegisterActivity(steps))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.Start(running); err != nil {
		return err
	}
	err = do(client.New(b))
	stop()
	return errors.Join(err, w.WaitForCompletion())
}

func begin(ctx context.Context, c *client.Client) (*workflow.Instance, error) {
	return c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: uuid.NewString()}, dbosName, drive.Sample())
}

func (g goWorkflows) prepare(_ context.Context, ended int) error {
	if ended > 0 {
		return errCannot
	}
	return g.open().Close()
}

func (g goWorkflows) load(ctx context.Context, _ shape, n int) error {
	_, err := g.starts(ctx, 1, n)
	return err
}

func (g goWorkflows) drive(ctx context.Context, sh shape, n int) (took time.Duration, err error) {
	t := newTally(n)
	err = g.working(ctx, t, sh, func(*client.Client) error {
		db, err := g.look(ctx)
		if err != nil {
			return err
		}
		err = seldomThenOften(ctx, n, func() (int, error) {
			return db.ask(ctx, "select count(*) from instances where completed_at is not null")
		})
		took = time.Since(t.began)
		return errors.Join(err, db.Close())
	})
	return took, err
}

func (g goWorkflows) verify(ctx context.Context, sh shape, n, _ int) error {
	executed := fmt.Sprintf("select count(*) from history where event_type in (%d, %d)", history.EventType_ActivityCompleted,
		history.EventType_ActivityFailed)
	return g.counted(ctx, map[string]int{
		"select count(*) from instances":                            n,
		"select count(*) from instances where completed_at is null": 0,
		executed: n * sh.steps(),
	})
}

func (g goWorkflows) oneByOne(ctx context.Context, sh shape, n int) (times []time.Duration, err error) {
	err = g.working(ctx, newTally(n), sh, func(c *client.Client) error {
		for range n {
			began := time.Now()
			run, err := begin(ctx, c)
			if err != nil {
				return err
			}
			if err := c.WaitForWorkflowInstance(ctx, run, time.Minute); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		return nil
	})
	return times, err
}

func (g goWorkflows) starts(ctx context.Context, callers, n int) (time.Duration, error) {
	if callers == 0 {
		return 0, errCannot
	}
	b := g.open()
	c := client.New(b)
	took, err := sideBySide(callers, n, func() error {
		_, err := begin(ctx, c)
		return err
	})
	return took, errors.Join(err, b.Close())
}

func (goWorkflows) probes(context.Context, int, int) ([]time.Duration, error) { return nil, errCannot }

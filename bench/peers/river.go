package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError}))

// otherQueue is that of the second tenant: River divides by queues.
const otherQueue = "other"

// riverSystem is River on one database. A run of several steps is a chain of jobs of which each inserts the next; forks and
// sagas it has not.
type riverSystem[TTx any] struct {
	target
	// inTransaction completes each job, and inserts the next, in one transaction of the job.
	inTransaction func(ctx context.Context, w *riverWorker[TTx], job *river.Job[riverArgs], next *riverArgs) error
	open          func(ctx context.Context, t target) (riverdriver.Driver[TTx], any, func() error, error)
}

type riverArgs struct {
	drive.Payload

	Step int `json:"step"`
	Of   int `json:"of"`
}

// Kind is the name under which River knows the worker.
func (riverArgs) Kind() string { return "bench" }

type riverWorker[TTx any] struct {
	river.WorkerDefaults[riverArgs]

	system riverSystem[TTx]
	client *river.Client[TTx]
	pool   any
	tally  *tally
}

// Work executes a step.
func (w *riverWorker[TTx]) Work(ctx context.Context, job *river.Job[riverArgs]) error {
	payload, err := w.tally.work()
	if err != nil {
		return err
	}
	var next *riverArgs
	if job.Args.Step+1 < job.Args.Of {
		next = &riverArgs{payload, job.Args.Step + 1, job.Args.Of}
	}
	if w.system.inTransaction != nil {
		if err := w.system.inTransaction(ctx, w, job, next); err != nil {
			return err
		}
		w.tally.end()
		return nil
	}
	if next != nil {
		_, err = w.client.Insert(ctx, *next, nil)
	}
	return err
}

func onPostgres(inTransaction bool) func(target) subject {
	return func(t target) subject {
		s := riverSystem[pgx.Tx]{target: t}
		s.open = func(ctx context.Context, t target) (riverdriver.Driver[pgx.Tx], any, func() error, error) {
			pool, err := t.pool(ctx, t.Knobs["conns"])
			if err != nil {
				return nil, nil, nil, err
			}
			return riverpgxv5.New(pool), pool, func() error { pool.Close(); return nil }, nil
		}
		if inTransaction {
			s.inTransaction = completeInTransaction
		}
		return s
	}
}

type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

func completeInTransaction(ctx context.Context, w *riverWorker[pgx.Tx], job *river.Job[riverArgs], next *riverArgs) error {
	pool, ok := w.pool.(beginner)
	if !ok {
		return errCannot
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if next != nil {
			if _, err := w.client.InsertTx(ctx, tx, *next, nil); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// onFile has the settings that the driver's documentation gives: one connection; the journal is the other systems' one.
func onFile(t target) subject {
	s := riverSystem[*sql.Tx]{target: t}
	s.open = func(ctx context.Context, t target) (riverdriver.Driver[*sql.Tx], any, func() error, error) {
		db, err := sql.Open("sqlite", "file:"+t.Path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
		if err != nil {
			return nil, nil, nil, err
		}
		db.SetMaxOpenConns(1)
		return riversqlite.New(db), db, db.Close, db.PingContext(ctx)
	}
	return s
}

// client makes a client. Without a tally it only inserts.
func (s riverSystem[TTx]) client(ctx context.Context, t *tally, queues ...string) (*river.Client[TTx], func() error, error) {
	driver, pool, closing, err := s.open(ctx, s.target)
	if err != nil {
		return nil, nil, err
	}
	config := &river.Config{Logger: quiet}
	worker := &riverWorker[TTx]{system: s, pool: pool, tally: t}
	if t != nil {
		config.FetchCooldown = time.Duration(s.Knobs["cooldown_ms"]) * time.Millisecond
		config.FetchPollInterval = time.Duration(s.Knobs["poll_ms"]) * time.Millisecond
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, worker)
		config.Queues = map[string]river.QueueConfig{}
		for _, q := range append(queues, river.QueueDefault) {
			config.Queues[q] = river.QueueConfig{MaxWorkers: s.Knobs["workers"]}
		}
	}
	worker.client, err = river.NewClient(driver, config)
	if err != nil {
		return nil, nil, errors.Join(err, closing())
	}
	return worker.client, closing, nil
}

func (s riverSystem[TTx]) prepare(ctx context.Context, ended int) error {
	driver, _, closing, err := s.open(ctx, s.target)
	if err != nil {
		return err
	}
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err = errors.Join(err, closing()); err != nil || ended == 0 {
		return err
	}
	if err := s.load(ctx, one, 1); err != nil {
		return err
	}
	if _, err := s.drive(ctx, one, 1); err != nil {
		return err
	}
	return s.multiply(ctx, ended-1, copied{"river_job", map[string]string{"id": ""}})
}

func (s riverSystem[TTx]) load(ctx context.Context, sh shape, n int) error {
	if sh.kind != "chain" {
		return errCannot
	}
	client, closing, err := s.client(ctx, nil)
	if err != nil {
		return err
	}
	return errors.Join(s.insert(ctx, client, sh, n), closing())
}

// insert inserts first steps in bulk.
func (riverSystem[TTx]) insert(ctx context.Context, client *river.Client[TTx], sh shape, n int) error {
	for n > 0 {
		jobs := make([]river.InsertManyParams, min(n, drive.Bulk))
		for i := range jobs {
			jobs[i].Args = riverArgs{drive.Sample(), 0, sh.n}
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
		n -= len(jobs)
	}
	return nil
}

// working has a started client do something.
func (s riverSystem[TTx]) working(ctx context.Context, t *tally, do func(*river.Client[TTx]) error, queues ...string) (err error) {
	client, closing, err := s.client(ctx, t, queues...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	if s.inTransaction == nil {
		events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 200_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
		defer cancel()
		go func() {
			for e := range events {
				if len(queues) == 0 || e.Job.Queue == otherQueue {
					t.end()
				}
			}
		}()
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	err = do(client)
	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errors.Join(err, client.StopAndCancel(stopping))
}

func (s riverSystem[TTx]) drive(ctx context.Context, sh shape, n int) (took time.Duration, err error) {
	t := newTally(n * sh.steps())
	err = s.working(ctx, t, func(*river.Client[TTx]) error {
		took, err = t.wait(ctx)
		return err
	})
	return took, err
}

func (s riverSystem[TTx]) verify(ctx context.Context, sh shape, n, before int) error {
	return s.counted(ctx, map[string]int{
		"select count(*) from river_job where state <> 'completed'": 0,
		"select count(*) from river_job where state = 'completed'":  n*sh.steps() + before,
	})
}

func (s riverSystem[TTx]) oneByOne(ctx context.Context, sh shape, n int) (times []time.Duration, err error) {
	t := newTally(1)
	err = s.working(ctx, t, func(client *river.Client[TTx]) error {
		for range n {
			took, err := s.probe(ctx, client, t, riverArgs{drive.Sample(), 0, sh.n}, nil)
			if err != nil {
				return err
			}
			times = append(times, took)
		}
		return nil
	})
	return times, err
}

// probe inserts one job and waits until all jobs of its run have ended.
func (riverSystem[TTx]) probe(ctx context.Context, client *river.Client[TTx], t *tally, args riverArgs, opts *river.InsertOpts) (time.Duration, error) {
	t.expect(args.Of)
	began := time.Now()
	if _, err := client.Insert(ctx, args, opts); err != nil {
		return 0, err
	}
	_, err := t.wait(ctx)
	return time.Since(began), err
}

func (s riverSystem[TTx]) starts(ctx context.Context, callers, n int) (took time.Duration, err error) {
	client, closing, err := s.client(ctx, nil)
	if err != nil {
		return 0, err
	}
	if callers > 0 {
		took, err = sideBySide(callers, n, func() error {
			_, err := client.Insert(ctx, riverArgs{drive.Sample(), 0, 1}, nil)
			return err
		})
	} else {
		began := time.Now()
		err = s.insert(ctx, client, one, n)
		took = time.Since(began)
	}
	return took, errors.Join(err, closing())
}

// probes gives the second tenant a queue of its own.
func (s riverSystem[TTx]) probes(ctx context.Context, flood, n int) (times []time.Duration, err error) {
	if s.inTransaction != nil {
		return nil, errCannot // its tally does not know queues; the plain one shows how they are divided
	}
	if err := s.load(ctx, one, flood); err != nil {
		return nil, err
	}
	t := newTally(1)
	err = s.working(ctx, t, func(client *river.Client[TTx]) error {
		for range n {
			took, err := s.probe(ctx, client, t, riverArgs{drive.Sample(), 0, 1}, &river.InsertOpts{Queue: otherQueue})
			if err != nil {
				return err
			}
			times = append(times, took)
		}
		return nil
	}, otherQueue)
	return times, errors.Join(err, s.floodLasts(ctx, flood, "select count(*) from river_job where state = 'available' and queue = 'default'"))
}

// floodLasts says whether something of a flood is left.
func (t target) floodLasts(ctx context.Context, flood int, query string) error {
	left, err := t.count(ctx, query)
	if err == nil && left == 0 && flood > 0 {
		err = errors.New("the flood had ended before the last probe: take a longer one")
	}
	return err
}

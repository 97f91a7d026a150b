package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres"
	"github.com/millrace-go/millrace/workflow"
)

// reportsTo is the descriptor on which the process reports.
const reportsTo = 3

// engineProcess is the life of a process that was started as an engine; it gives the exit status.
func engineProcess(crews map[string]Crew) int {
	say := json.NewEncoder(os.NewFile(reportsTo, "reports"))
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	err := serve(ctx, crews, say)
	last := report{Ended: true}
	if err != nil {
		last.Error = err.Error()
	}
	if err = errors.Join(err, say.Encode(last)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, crews map[string]Crew, say *json.Encoder) (err error) {
	o, err := settings()
	if err != nil {
		return err
	}
	crew, ok := crews[o.Crew]
	if !ok {
		return fmt.Errorf("there is no crew %q", o.Crew)
	}
	w := &Workplace{Options: o, Owner: fmt.Sprintf("engine%s-%d-%08x", o.Label, os.Getpid(), rand.Uint32())} //nolint:gosec // a name
	if w.Ledger, err = newLedger(w); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Ledger.close()) }()
	db, err := postgres.Open(ctx, o.URL, postgres.Options{Schema: o.Schema, MaxConns: o.Conns, NoHints: o.NoHints, Pooled: o.Pooled})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var st store.Store = db
	if crew.Store != nil {
		st = crew.Store(w, st)
	}
	e, err := hire(ctx, w, crew, st)
	if err != nil {
		return err
	}
	if err := say.Encode(report{Ready: w.Owner}); err != nil {
		return err
	}
	return e.Run(ctx)
}

// settings reads the first line of the input. The input ends when the process that started this one does, and so does this one.
func settings() (o Options, err error) {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return o, fmt.Errorf("read the settings: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1)
	}()
	if err := json.Unmarshal(line, &o); err != nil {
		return o, fmt.Errorf("read the settings: %w", err)
	}
	if o.Crew == "" {
		o.Crew = Work
	}
	return o, nil
}

func hire(ctx context.Context, w *Workplace, crew Crew, st store.Store) (*millrace.Engine, error) {
	o := &w.Options
	c := millrace.Config{
		Owner: w.Owner, Tenant: o.Tenant, Slots: o.Slots, Queues: o.Queues, Lease: o.Lease, Grace: o.Grace,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if crew.Handlers != nil {
		c.Handlers = crew.Handlers(w)
	}
	if crew.Observer != nil {
		c.Observer = crew.Observer(w)
	}
	e, err := millrace.New(st, c)
	if err != nil {
		return nil, err
	}
	for _, text := range o.Define {
		if err := register(ctx, e, text); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func register(ctx context.Context, e *millrace.Engine, text string) error {
	all, err := workflow.ReadAll("fleet.yaml", []byte(text))
	if err != nil {
		return err
	}
	for _, def := range all {
		if _, err := e.Register(ctx, def); err != nil {
			return fmt.Errorf("register %s: %w", def.Name, err)
		}
	}
	return nil
}

// Prepare makes the schema in a database that has none, or brings it up to date.
func Prepare(ctx context.Context, o Options) error {
	st, err := postgres.Open(ctx, o.URL, postgres.Options{Schema: o.Schema, Migrate: true})
	if err != nil {
		return err
	}
	return st.Close()
}

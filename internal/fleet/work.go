package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace"
)

// Order is the input of the crew Work's handler: what its attempts are to do. A step hands on the run's input by
// `with: "${ input }"`; what is not an order is one that asks for nothing.
type Order struct {
	// Millis is how long an attempt takes. Default: Options.Delay.
	Millis int `json:"ms,omitempty"`
	// Fail has the first attempts at a path fail, so many; with -1 the task fails for good.
	Fail map[string]int `json:"fail,omitempty"`
	// Gates has attempts at a path wait until the gate of that name is opened (OpenGate), before they take their time.
	Gates map[string]string `json:"gates,omitempty"`
	// Deaf has attempts go on whatever becomes of their context.
	Deaf bool `json:"deaf,omitempty"`
}

// Workers gives the handlers of the crew Work.
func Workers(w *Workplace) []millrace.Handler {
	names := w.Options.Handlers
	if len(names) == 0 {
		names = []string{Work}
	}
	var all []millrace.Handler
	for _, name := range names {
		all = append(all, millrace.NewHandler(name, func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			return in, w.follow(ctx, in)
		}))
	}
	return all
}

func (w *Workplace) follow(ctx context.Context, in json.RawMessage) error {
	var o Order
	_ = json.Unmarshal(in, &o) // then it is none
	if err := w.Ledger.Write(ctx, Begun, ""); err != nil {
		return err
	}
	if o.Deaf {
		ctx = context.WithoutCancel(ctx)
	}
	err := w.do(ctx, o)
	what, note := Succeeded, ""
	switch {
	case ctx.Err() != nil:
		what, note = Interrupted, context.Cause(ctx).Error()
	case err != nil:
		what, note = Failed, err.Error()
	}
	return errors.Join(err, w.Ledger.Write(ctx, what, note))
}

func (w *Workplace) do(ctx context.Context, o Order) error {
	i, _ := millrace.Info(ctx)
	if gate := o.Gates[i.Path]; gate != "" {
		if err := w.pass(ctx, gate); err != nil {
			return err
		}
	}
	d := w.Options.Delay
	if o.Millis > 0 {
		d = time.Duration(o.Millis) * time.Millisecond
	}
	if err := rest(ctx, d); err != nil {
		return err
	}
	switch n := o.Fail[i.Path]; {
	case n < 0:
		return millrace.Permanent(millrace.Fail("refused", fmt.Errorf("%s is refused", i.Path)))
	case i.Attempt <= n:
		return millrace.Fail("passing", fmt.Errorf("%s fails in attempt %d", i.Path, i.Attempt))
	}
	return nil
}

const gateEnding = ".gate"

// OpenGate lets the attempts go on that wait at the gate of that name, in all processes with this folder.
func OpenGate(folder, name string) error {
	return os.WriteFile(filepath.Join(folder, name+gateEnding), nil, 0o600)
}

// pass waits until a gate is open.
func (w *Workplace) pass(ctx context.Context, gate string) error {
	for {
		if _, err := os.Stat(filepath.Join(w.Options.Folder, gate+gateEnding)); err == nil {
			return nil
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

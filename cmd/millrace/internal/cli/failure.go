package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// failure is an error with all that people and programs are told of it.
type failure struct {
	status   int
	code     string
	message  string
	hint     string
	mistakes []workflow.Mistake
}

// Error gives the message.
func (f *failure) Error() string { return f.message }

func usage(hint, format string, args ...any) error {
	return &failure{status: statusUsage, code: "usage", message: fmt.Sprintf(format, args...), hint: hint}
}

// exit ends the program with a status and says nothing more.
type exit int

// Error names the status.
func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// report tells an error and gives the exit status.
func (a *app) report(err error) int {
	var e exit
	if errors.As(err, &e) {
		return int(e)
	}
	f := explain(err)
	if a.json {
		a.reportJSON(f)
		return f.status
	}
	if len(f.mistakes) > 0 {
		a.say("%s", f.message)
	} else {
		a.say("millrace: %s", f.message)
	}
	if f.hint != "" {
		a.say("  %s", strings.ReplaceAll(f.hint, "\n", "\n  "))
	}
	return f.status
}

func (a *app) reportJSON(f *failure) {
	var doc struct {
		Error struct {
			Code     string             `json:"code"`
			Message  string             `json:"message"`
			Hint     string             `json:"hint"`
			Mistakes []workflow.Mistake `json:"mistakes"`
		} `json:"error"`
	}
	doc.Error.Code, doc.Error.Message, doc.Error.Hint = f.code, f.message, f.hint
	doc.Error.Mistakes = f.mistakes
	if f.mistakes == nil {
		doc.Error.Mistakes = []workflow.Mistake{}
	}
	_ = desk.Encode(a.err, doc) // standard error is where a fault would be told
}

// explain finds status, code and hint of an error.
func explain(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{status: statusUsage, code: "failed", message: err.Error()}
	if m, ok := errors.AsType[*workflow.Mistakes](err); ok {
		f.code, f.message, f.mistakes = "mistakes", m.Error(), m.List
		return f
	}
	if m, ok := errors.AsType[*arguments.Mistake](err); ok {
		f.code, f.message, f.hint = "usage", m.Message, m.Hint
		return f
	}
	if in, ok := errors.AsType[*workflow.InputError](err); ok {
		f.code, f.message = "input", in.Error()
		f.hint = "give values with -i NAME=VALUE or --input JSON, @FILE or - (standard input)"
		return f
	}
	if s, ok := errors.AsType[*engine.StartError](err); ok {
		f.code, f.message, f.hint = "start", s.Error(), "nothing was started; `millrace run --help` tells what can be said of a run"
		return f
	}
	if s, ok := errors.AsType[*store.StoreError](err); ok {
		f.status, f.code, f.hint = statusStore, "store", s.Hint
		return f
	}
	if c, ok := errors.AsType[*store.ConflictError](err); ok {
		f.status, f.code, f.message, f.hint = statusRefused, "conflict", c.Error(), conflictHint(c)
		return f
	}
	if o := explainOrder(err); o != nil {
		return o
	}
	switch {
	case errors.Is(err, store.ErrUnusable), errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		f.status, f.code, f.hint = statusStore, "store", "try again; if it stays so, look at the database's disk and its other users"
	case errors.Is(err, store.ErrNotFound):
		f.status, f.code, f.hint = statusRefused, "not_found", "`millrace runs` lists the runs, `millrace run FILE` starts one"
	case errors.Is(err, millrace.ErrAmbiguous):
		f.status, f.code, f.hint = statusRefused, "ambiguous", "write more of the id's end"
	case errors.Is(err, store.ErrEnded):
		f.status, f.code, f.hint = statusRefused, "ended", "`millrace show` tells how it ended"
	case isDenied(err):
		f.status, f.code = statusRefused, "refused"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok && f.code == "failed" {
		file := fileFailure(p.Path, p)
		_ = errors.As(file, &f)
	}
	return f
}

// explainOrder finds what there is to say of an order that was not carried out; nil when it is no such error.
func explainOrder(err error) *failure {
	f := &failure{status: statusRefused, message: err.Error()}
	if errors.Is(err, machine.ErrNewer) {
		f.status, f.code, f.hint = statusStore, "newer", "use the newest millrace of those that work on this database"
		return f
	}
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, machine.ErrDamaged) {
		return damaged(err)
	}
	if d, ok := declined(err); ok {
		return d
	}
	if m, ok := errors.AsType[*orders.Missing](err); ok {
		f.code, f.hint = "not_found", m.Hint
		return f
	}
	if l, ok := errors.AsType[*millrace.LetterError](err); ok {
		f.code, f.hint = "closed", fmt.Sprintf("`millrace dead show %d` tells more", l.ID)
		return f
	}
	if r, ok := errors.AsType[*machine.Refusal](err); ok {
		f.code, f.message, f.hint = "unsafe", r.Error(), "`millrace show` tells how the run stands"
		if r.Again {
			f.hint = "`--again` also does again what succeeded and was not undone; `millrace retry --help` tells the rest"
		}
		return f
	}
	return nil
}

// isDenied says whether an order on one item was refused, for whatever reason.
func isDenied(err error) bool {
	_, ok := errors.AsType[*orders.Denied](err)
	return ok
}

// damaged tells of a run whose stored state cannot be used.
func damaged(err error) *failure {
	f := &failure{status: statusStore, code: "damaged", message: err.Error(), hint: "`millrace doctor` tells which run it is, and how to repair it"}
	if d, ok := errors.AsType[*store.DamagedError](err); ok {
		cause := d.Err
		for inner := errors.Unwrap(cause); inner != nil; inner = errors.Unwrap(cause) {
			cause = inner
		}
		f.message = fmt.Sprintf("run %s: the %s is damaged: %v", d.RunID, d.What, cause)
		f.hint = "`millrace doctor --repair " + screen.Ending(d.RunID) + "` rebuilds it from the run's journal; no other run is harmed"
	}
	return f
}

func conflictHint(c *store.ConflictError) string {
	if c.What == "workflow" {
		return fmt.Sprintf("write `version: %d` in the file, or leave the version out and the next free one is taken", c.Free)
	}
	return "use another --key, or look at that run: millrace show " + c.RunID
}

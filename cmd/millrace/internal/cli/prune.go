package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/runner/command"
	"github.com/millrace-go/millrace/store"
)

// forgetRuns removes what lies beside the database of runs that are gone from it.
func (a *app) forgetRuns(ids []string) error {
	d, err := a.locate()
	if err != nil {
		return err
	}
	return d.forget(ids)
}

func (d database) forget(ids []string) error {
	all := []error{d.logs().Remove(ids)}
	for _, id := range ids {
		all = append(all, command.RemoveScratch(d.scratch(id)))
	}
	return errors.Join(all...)
}

// pruned removes what lies beside the database of runs that the worker removed from it.
func (w *worker) pruned(runs []store.PrunedRun) {
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].RunID
	}
	if err := errors.Join(w.log.Files.Remove(ids), w.db.forget(ids)); err != nil {
		w.tell("%v", err)
	}
	if !w.flags.quiet {
		w.tell("removed %s that ended long ago", screen.Plural(len(runs), "run"))
	}
}

// stillThere fails when the run that a key names was removed.
func (a *app) stillThere(ctx context.Context, st store.Store, id, key string) error {
	_, err := st.State(ctx, a.tenant, id, nil, nil)
	if !errors.Is(err, store.ErrNotFound) {
		return nil // whatever else is wrong is found when it is looked at
	}
	return &failure{
		status: statusRefused, code: "removed", message: fmt.Sprintf("run %s, which had the key %q, has ended and was removed", screen.Ending(id), key),
		hint: "a key stays taken for ever; start it with another --key",
	}
}

package patient

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/store"
)

// Wait bears the faults of a database that cannot be reached, for a while. It is for one goroutine.
type Wait struct {
	For  time.Duration     // how long it lasts at most
	Tell func(note string) // of a fault when it begins, and of its end

	since time.Time // zero: all is well
}

// Bear takes how a look went. It gives nil when that went well or is worth another look, and the error that ends it otherwise.
func (w *Wait) Bear(err error) error {
	switch {
	case err == nil && w.since.IsZero():
	case err == nil:
		w.since = time.Time{}
		w.Tell(Again)
	case !Passing(err):
		return err
	case w.since.IsZero():
		w.since = time.Now()
		w.Tell(Note(err))
	case time.Since(w.since) > w.For:
		return err
	}
	return nil
}

// Passing says whether an error is one of a database that may soon be reached again.
func Passing(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// Again is the note that it can be used again.
const Again = "the database can be used again"

// Note tells people of a fault that is waited out: what is wrong, whatever was being done, and what to do about it.
func Note(err error) string {
	const note = "the database cannot be used now, trying again: "
	s, ok := errors.AsType[*store.StoreError](err)
	switch {
	case !ok, s.Err == nil:
		return note + err.Error()
	case s.Hint == "":
		return note + s.Err.Error()
	}
	return note + s.Err.Error() + "; " + s.Hint
}

package patient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/store"
)

func TestAWaitBearsWhatPassesForAWhile(t *testing.T) {
	t.Parallel()
	away := &store.StoreError{Op: "look", Kind: store.ErrUnavailable, Hint: "start it", Err: errors.New("nobody listens")}
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := Wait{For: time.Minute, Tell: func(note string) { told = append(told, note) }}
		for _, step := range []struct {
			err, want error
			after     time.Duration
		}{
			{nil, nil, 0},
			{away, nil, 0},
			{context.DeadlineExceeded, nil, 30 * time.Second},
			{nil, nil, 0},
			{away, nil, time.Hour},
			{away, nil, time.Minute},
			{away, away, time.Second},
			{store.ErrUnusable, store.ErrUnusable, 0},
		} {
			<-time.After(step.after)
			if got := w.Bear(step.err); !errors.Is(got, step.want) {
				t.Errorf("bear %v: got %v, want %v", step.err, got, step.want)
			}
		}
		trouble := "the database cannot be used now, trying again: nobody listens; start it"
		if diff := cmp.Diff([]string{trouble, Again, trouble}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

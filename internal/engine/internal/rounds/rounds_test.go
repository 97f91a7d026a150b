package rounds_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/clock"
	"github.com/millrace-go/millrace/internal/engine/internal/rounds"
)

func TestAStepIsRepeatedAtOnceAfterWorkAndLaterWithoutAndLaterStillAfterFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := time.Now()
		var seen []time.Duration
		signal := rounds.NewSignal()
		answers := []struct {
			n   int
			err error
		}{{n: 1}, {}, {}, {err: errors.New("away")}, {err: errors.New("away")}, {}}
		rounds.Loop{
			Signal: signal, Poll: time.Second, Gap: 100 * time.Millisecond,
			Step: func(context.Context) (int, error) {
				seen = append(seen, time.Since(began))
				a := answers[len(seen)-1]
				switch len(seen) {
				case 3:
					signal.Raise()
					signal.Raise()
				case len(answers):
					stop()
				}
				return a.n, a.err
			},
		}.Drive(ctx, clock.Real{})
		ms := time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 0, 1000 * ms, 1100 * ms, 1150 * ms, 1250 * ms}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAStepWaitsForItsTimeAndASignalHasTheTimeAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := time.Now()
		signal := rounds.NewSignal()
		time.AfterFunc(30*time.Millisecond, signal.Raise)
		var asked []time.Duration
		rounds.Loop{
			Signal: signal, Poll: time.Second,
			Wait: func() time.Duration {
				asked = append(asked, time.Since(began))
				return []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, 0}[len(asked)-1]
			},
			Step: func(context.Context) (int, error) {
				asked = append(asked, time.Since(began))
				stop()
				return 1, nil
			},
		}.Drive(ctx, clock.Real{})
		ms := time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 30 * ms, 80 * ms, 80 * ms}, asked); diff != "" {
			t.Error(diff)
		}
	})
}

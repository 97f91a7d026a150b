package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace"
)

const other = "other" // the tenant that sends little

// Probes has a second tenant start n runs, each when the one before has ended, while so many runs of the first tenant wait, and
// gives for each the time from the call of Start to its end. A flood that ends before the last probe is an error; 0 is an
// idle system.
func (b *Bench) Probes(ctx context.Context, flood, n int) (times []time.Duration, err error) {
	starter, err := millrace.New(b.store, millrace.Config{Tenant: other})
	if err != nil {
		return nil, err
	}
	if _, err := starter.Register(ctx, b.def); err != nil {
		return nil, err
	}
	if err := b.Start(ctx, flood); err != nil {
		return nil, err
	}
	b.ended.tenant = other
	running, stop := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- b.engine.Run(running) }()
	for len(times) < n && err == nil {
		done := b.ended.expect(1)
		began := time.Now()
		if _, err = starter.Start(ctx, request()); err == nil {
			select {
			case <-done:
				times = append(times, time.Since(began))
			case err = <-over:
				stop()
				return nil, fmt.Errorf("the engine stopped: %w", err)
			}
		}
	}
	if left := int64(flood) - b.ended.others.Load(); flood > 0 && left <= 0 && err == nil {
		err = errors.New("the flood had ended before the last probe: take a longer one")
	}
	stop()
	return times, errors.Join(err, <-over)
}

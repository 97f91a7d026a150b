package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/fleet"
)

// nemesis breaks things. What it broke, it mends before it breaks the next thing of the same lane.
type nemesis struct {
	*stage
	seats  []*seat
	outage time.Time // when the next one is due
}

// seat is the place of one engine process.
type seat struct{ process *fleet.Process }

// fault is something that breaks, and is mended when it returns.
type fault struct {
	kind   string
	weight int
	strike func(ctx context.Context, l *lane) error
}

// lane is what breaks one thing after the other, drawn from the seed and the lane's number.
type lane struct {
	number uint64
	random *rand.Rand
	seats  []*seat // that it may break
	faults []fault
}

// outages is the number of the lane in which the server is away for long, when it is time for that.
const outages = 3

func (l *lane) between(low, high time.Duration) time.Duration {
	return low + time.Duration(l.random.Int64N(int64(high-low)))
}

func (n *nemesis) lane(number uint64, seats []*seat, faults []fault) *lane {
	if n.Only != nil {
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !slices.Contains(n.Only, f.kind) })
	}
	return &lane{
		number: number, seats: seats, faults: faults,
		random: rand.New(rand.NewPCG(n.Seed, number)), //nolint:gosec // drawn again from the seed
	}
}

// seat launches one more engine.
func (n *nemesis) seat(ctx context.Context) error {
	p, err := launch(ctx, n.options)
	if err == nil {
		n.seats = append(n.seats, &seat{p})
	}
	return err
}

// dismiss ends what is left of the engines.
func (n *nemesis) dismiss() {
	for _, s := range n.seats {
		_ = s.process.Kill() // it may have ended before
	}
}

// rage breaks things for as long as the plan says, and returns when all is mended.
func (n *nemesis) rage(ctx context.Context) error {
	if n.Chaos == 0 {
		return nil
	}
	n.outage = time.Now().Add(n.Outages)
	half := len(n.seats) / 2
	lanes := []*lane{
		n.lane(1, n.seats[:half], n.processFaults()), n.lane(2, n.seats[half:], n.processFaults()),
		n.lane(outages, nil, n.serverFaults()), n.lane(4, nil, n.networkFaults()),
	}
	over, cancel := context.WithTimeout(ctx, n.Chaos)
	defer cancel()
	errs := make([]error, len(lanes))
	var work sync.WaitGroup
	for i, l := range lanes {
		work.Go(func() { errs[i] = n.drive(over, l) })
	}
	work.Wait()
	n.proxy.Restore()
	return errors.Join(errs...)
}

func (n *nemesis) drive(ctx context.Context, l *lane) error {
	for ctx.Err() == nil {
		begun := time.Now()
		f, ok := n.draw(l)
		if !ok {
			rest(ctx, 100*time.Millisecond)
			continue
		}
		if err := f.strike(ctx, l); err != nil {
			return fmt.Errorf("%s: %w", f.kind, err)
		}
		n.report.struck(f.kind)
		n.Log("%6.1fs lane %d: %s, for %v", begun.Sub(n.report.broke).Seconds(), l.number, f.kind, time.Since(begun).Round(10*time.Millisecond))
		rest(ctx, l.between(200*time.Millisecond, 2500*time.Millisecond))
	}
	return nil
}

// draw gives what breaks next; ok is false when that is nothing for now.
func (n *nemesis) draw(l *lane) (f fault, ok bool) {
	if l.number == outages && n.Outage > 0 && !time.Now().Before(n.outage) {
		n.outage = n.outage.Add(n.Outages + n.Outage)
		return fault{kind: "outage", strike: func(ctx context.Context, _ *lane) error { return n.crash(ctx, n.Outage) }}, true
	}
	total := 0
	for _, f := range l.faults {
		total += f.weight
	}
	if total == 0 {
		return f, false
	}
	at := l.random.IntN(total)
	i := slices.IndexFunc(l.faults, func(f fault) bool {
		at -= f.weight
		return at < 0
	})
	return l.faults[i], true
}

// processFaults are what befalls processes.
func (n *nemesis) processFaults() []fault {
	return []fault{
		{"SIGKILL", 5, func(ctx context.Context, l *lane) error {
			s := l.seats[l.random.IntN(len(l.seats))]
			if err := s.process.Kill(); err != nil {
				return err
			}
			rest(ctx, l.between(0, 2*time.Second))
			return n.replace(ctx, s)
		}},
		{"SIGSTOP", 4, func(ctx context.Context, l *lane) error { return halt(ctx, l, 100*time.Millisecond, n.Lease) }},
		{"SIGSTOP beyond the lease", 2, func(ctx context.Context, l *lane) error {
			return halt(ctx, l, n.Lease+6*time.Second, n.Lease+10*time.Second)
		}},
		{"SIGTERM", 2, func(ctx context.Context, l *lane) error {
			s := l.seats[l.random.IntN(len(l.seats))]
			if err := s.process.Drain(); err != nil {
				return err
			}
			_ = s.process.Wait(context.WithoutCancel(ctx)) // while the database is away, it says what it leaves behind
			return n.replace(ctx, s)
		}},
	}
}

func halt(ctx context.Context, l *lane, low, high time.Duration) error {
	s := l.seats[l.random.IntN(len(l.seats))]
	if err := s.process.Halt(); err != nil {
		return err
	}
	rest(ctx, l.between(low, high))
	return s.process.Continue()
}

// replace launches an engine in the place of one that has ended.
func (n *nemesis) replace(ctx context.Context, s *seat) error {
	p, err := launch(context.WithoutCancel(ctx), n.options)
	if err == nil {
		s.process = p
	}
	return err
}

// launch launches a process as soon as the database lets it, whatever breaks meanwhile.
func launch(ctx context.Context, o fleet.Options) (*fleet.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		p, err := fleet.Launch(ctx, o)
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		rest(ctx, 300*time.Millisecond)
	}
}

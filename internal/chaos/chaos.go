// Package chaos lets processes work on a PostgreSQL server while everything around them breaks, and judges afterwards whether
// anything was lost or done twice.
//
// Nouns: a [Plan] says what happens for how long, from which seed; the nemesis breaks things, in lanes that go on side by side:
// processes are killed, halted and replaced, the server crashes, is away, locks what is needed or has no connection left, the
// network before it cuts, delays and swallows; a [Report] has the figures, and everything that is wrong. A fault that is
// planted in the store of the processes must be found: that is how the judge is judged.
//
// What is asked of the store is recorded by internal/lease, what runs are and how they must end is known to internal/load, and
// the network is internal/proxy. It is support for tests, and imports the root, store, store/postgres, machine, workflow,
// internal/fleet and internal/pgcluster.
package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/chaos/internal/load"
	"github.com/millrace-go/millrace/internal/chaos/internal/proxy"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres"
	"github.com/millrace-go/millrace/workflow"
)

// Plan says what happens. Fields without a default must be set.
type Plan struct {
	Seed     uint64
	Engines  int           // processes that execute
	Every    time.Duration // time between two starts of runs
	Most     int           // starts in all; 0: as long as the quiet and the chaos last
	Quiet    time.Duration // before the chaos: what is done in peace is the measure
	Chaos    time.Duration // 0: nothing breaks
	Settle   time.Duration // after the chaos: all runs must have ended by then
	Outage   time.Duration // how long the server is away; 0: never
	Outages  time.Duration // time from the beginning of the chaos to the first outage, and from one to the next
	Lease    time.Duration
	Patience time.Duration // how long nothing need go on because of what is no outage
	Only     []string      // kinds of faults; default: all
	Planted  string        // a fault in the store of the processes, by its constant. Default: none
	Cluster  *pgcluster.Cluster
	Database string // of the cluster, empty
	Folder   string // for ledgers, histories and logs
	Log      func(format string, args ...any)
}

// Owners of the work, as the crews of internal/fleet.
const (
	engines = "engine"
	drivers = "driver"
	robots  = "robot"
)

// stage is what a plan is played on.
type stage struct {
	*Plan
	proxy   *proxy.Proxy
	options fleet.Options // of engines
	store   *postgres.Store
	report  *Report
}

// Play plays the plan. The error is one of the stage; what is wrong with what was played is in the report.
func Play(ctx context.Context, p *Plan) (r *Report, err error) {
	s := &stage{Plan: p, report: newReport(p.Seed)}
	if s.proxy, err = proxy.Listen(ctx, p.Cluster.Address(), p.Seed); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.proxy.Close()) }()
	if err := s.furnish(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if err := s.play(ctx); err != nil {
		return nil, err
	}
	return s.report, s.judge(ctx)
}

// furnish makes the schema and registers the workflows.
func (s *stage) furnish(ctx context.Context) (err error) {
	if s.store, err = postgres.Open(ctx, s.Cluster.URL(s.Database), postgres.Options{Migrate: true, NoHints: true}); err != nil {
		return err
	}
	e, err := millrace.New(s.store, millrace.Config{})
	if err != nil {
		return err
	}
	for _, text := range load.Workflows {
		def, err := workflow.Read("load.yaml", []byte(text))
		if err != nil {
			return err
		}
		if _, err := e.Register(ctx, def); err != nil {
			return err
		}
	}
	through := url.URL{
		Scheme: "postgres", User: url.User(pgcluster.User), Host: s.proxy.Address(), Path: "/" + s.Database,
		RawQuery: url.Values{"sslmode": {"disable"}, "connect_timeout": {"5"}}.Encode(),
	}
	s.options = fleet.Options{
		URL: through.String(), Conns: 5, Crew: engines, Slots: 24, Lease: s.Lease, Grace: grace, Folder: s.Folder,
	}
	s.options.Extra, err = json.Marshal(settings{Planted: s.Planted})
	return err
}

// grace is for how long a process that is drained lets attempts go on: the longest takes 3 s, and a busy machine some more.
const grace = 10 * time.Second

// settings is what every process gets as Extra.
type settings struct {
	load.Drive
	Planted string `json:"planted,omitempty"`
}

// play has all processes work through the quiet and the chaos, and until all runs have ended.
func (s *stage) play(ctx context.Context) error {
	n := &nemesis{stage: s}
	defer n.dismiss()
	for range s.Engines {
		if err := n.seat(ctx); err != nil {
			return err
		}
	}
	helper := func(crew string) (*fleet.Process, error) {
		o := s.options
		o.Crew, o.Conns = crew, 3
		raw, err := json.Marshal(settings{Drive: load.Drive{Seed: s.Seed, Every: s.Every, Most: s.Most}, Planted: s.Planted})
		if err != nil {
			return nil, err
		}
		o.Extra = raw
		return launch(ctx, o)
	}
	robot, err := helper(robots)
	if err != nil {
		return err
	}
	defer robot.Kill() //nolint:errcheck // it may have ended before
	driver, err := helper(drivers)
	if err != nil {
		return err
	}
	defer driver.Kill() //nolint:errcheck // it may have ended before
	s.report.began = time.Now()
	rest(ctx, s.Quiet)
	s.report.broke = time.Now()
	err = n.rage(ctx)
	s.report.healed = time.Now()
	if err != nil {
		return err
	}
	if s.Most == 0 { // with a number of starts, the driver is through
		err = driver.Terminate(ctx)
		s.report.blame("the driver", err)
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.report.settled = time.Now()
	s.report.blame("the driver", ended(driver, ctx))
	s.report.blame("the robot", robot.Terminate(ctx))
	for _, seat := range n.seats {
		s.report.blame("an engine", seat.process.Terminate(ctx))
	}
	return nil
}

// ended drains a process that has not ended yet.
func ended(p *fleet.Process, ctx context.Context) error { //nolint:revive // it is about the process
	select {
	case <-p.Exited():
		return nil
	default:
		return p.Terminate(ctx)
	}
}

// settle waits until all runs have ended, as long as the plan allows.
func (s *stage) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Settle)
	defer cancel()
	for {
		done, err := s.settled(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the judge sees which have not ended
		case err != nil:
			return err
		case done:
			return nil
		}
		rest(ctx, 300*time.Millisecond)
	}
}

// settled says whether as many runs were accepted as are to be, and all have ended.
func (s *stage) settled(ctx context.Context) (bool, error) {
	accepted, err := load.ReadAccepted(s.Folder)
	if err != nil {
		return false, err
	}
	cases := map[int]bool{}
	for _, a := range accepted {
		cases[a.Case] = true
	}
	if len(cases) < s.Most {
		return false, nil
	}
	open, err := s.store.Runs(ctx, store.Filter{Tenant: millrace.DefaultTenant, Status: going, Limit: 1})
	if errors.Is(err, store.ErrUnavailable) { // connections that the chaos took may not be gone yet
		return false, nil
	}
	return err == nil && len(open) == 0, err
}

// rest waits for d or the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// blame notes that something did not end as it should.
func (r *Report) blame(who string, err error) {
	if err != nil {
		r.wrong(fmt.Sprintf("%s: %v", who, err))
	}
}

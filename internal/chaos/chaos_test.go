package chaos_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/chaos"
	"github.com/millrace-go/millrace/internal/fleet"
	"github.com/millrace-go/millrace/internal/pgcluster"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m, chaos.Crews())) }

// What `make chaos` sets: minutes of chaos, and the seed; and a folder in which what processes wrote is kept.
const (
	minutesVariable = "MILLRACE_CHAOS_MINUTES"
	seedVariable    = "MILLRACE_CHAOS_SEED"
	folderVariable  = "MILLRACE_CHAOS_FOLDER"
)

// A10, A11
func TestNothingIsLostAndNothingIsDoneTwiceWhateverBreaks(t *testing.T) {
	t.Parallel()
	minutes, _ := strconv.Atoi(os.Getenv(minutesVariable))
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	t.Logf("seed %d", seed)
	cluster := pgcluster.Start(t, pgcluster.Options{Settings: map[string]string{"max_connections": "60"}})
	p := chaos.Plan{
		Seed: seed, Engines: 4, Every: 200 * time.Millisecond, Quiet: 5 * time.Second, Chaos: 50 * time.Second,
		Settle: 5 * time.Minute, Outage: 10 * time.Second, Outages: 20 * time.Second, Lease: 3 * time.Second, Patience: time.Minute,
		Cluster: cluster, Database: cluster.Database(t), Folder: t.TempDir(), Log: t.Logf,
	}
	if folder := os.Getenv(folderVariable); folder != "" {
		p.Folder = folder
	}
	if minutes > 0 {
		p.Quiet, p.Chaos, p.Settle = 20*time.Second, time.Duration(minutes)*time.Minute, 2*time.Minute
		p.Outage, p.Outages, p.Every, p.Patience = time.Minute, 7*time.Minute, 125*time.Millisecond, 20*time.Second
	}
	play(t, &p)
}

const most = 20 // mistakes that are shown

func play(t *testing.T, p *chaos.Plan) *chaos.Report {
	t.Helper()
	r, err := chaos.Play(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	for _, wrong := range r.Wrong[:min(len(r.Wrong), most)] {
		t.Error(wrong)
	}
	if len(r.Wrong) > most {
		t.Errorf("and %d more", len(r.Wrong)-most)
	}
	return r
}

func quiet(t *testing.T, cluster *pgcluster.Cluster) *chaos.Plan {
	t.Helper()
	return &chaos.Plan{
		Seed: 11, Engines: 2, Every: 10 * time.Millisecond, Most: 60, Quiet: time.Second, Settle: 5 * time.Minute, Lease: 2 * time.Second, Patience: time.Minute,
		Cluster: cluster, Database: cluster.Database(t), Folder: t.TempDir(), Log: t.Logf,
	}
}

func TestInPeaceEverythingEndsAsItsOracleSays(t *testing.T) {
	t.Parallel()
	play(t, quiet(t, pgcluster.Shared(t)))
}

// A judge that finds nothing is worth nothing: each fault is planted in the store of the processes, below what records, and
// must be found by those whose subject it is.
func TestEveryPlantedFaultIsFound(t *testing.T) {
	t.Parallel()
	cluster := pgcluster.Shared(t)
	for fault, said := range map[string]string{
		chaos.ForgetsSettlement: "can be explained",
		chaos.DoublesClaim:      "a handler was called 2 times",
		chaos.ClaimsHeld:        "can be explained",
		chaos.IgnoresToken:      "can be explained",
		chaos.ForgetsTask:       "doctor: run",
		chaos.ForgetsStart:      "was accepted as run",
		chaos.DoublesStart:      "which nobody asked for",
		chaos.SwapsOutcome:      "the journal says",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			var r *chaos.Report
			for _, try := range []struct {
				starts int
				settle time.Duration
			}{
				{40, 4 * time.Second},
				{40, 30 * time.Second},
				{400, time.Minute}, // for a machine that is busy: calls are few there, and hold much
			} {
				p := quiet(t, cluster)
				p.Planted, p.Settle, p.Most = fault, try.settle, try.starts
				var err error
				if r, err = chaos.Play(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(strings.Join(r.Wrong, "\n"), said) {
					return
				}
			}
			t.Errorf("of %d mistakes none says %q:\n%s%s", len(r.Wrong), said, r, strings.Join(r.Wrong[:min(len(r.Wrong), most)], "\n"))
		})
	}
}

// A10
func TestAnOutageRepeatsNoFinishedWorkAndLosesNoLease(t *testing.T) {
	t.Parallel()
	p := quiet(t, pgcluster.Start(t, pgcluster.Options{}))
	p.Every, p.Most, p.Chaos, p.Outages, p.Only = 40*time.Millisecond, 200, 19*time.Second, time.Second, []string{"outage"}
	// It lasts longer than any lease. Then each process has its own time to renew them: 5 s and a third of the lease, before
	// another that is back declares them lost.
	p.Outage, p.Lease = 17*time.Second, 16*time.Second
	r := play(t, p)
	if r.Faults["outage"] == 0 || r.Lost > 0 || r.Again > 0 {
		t.Errorf("%d outages, %d leases lost, %d handlers did again what was done", r.Faults["outage"], r.Lost, r.Again)
	}
}

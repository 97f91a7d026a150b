package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

var benchPayload = json.RawMessage(
	`{"customer":"c-1234567","amount":12345,"items":["aaaaaaaa","bbbbbbbb","cccccccc"],"note":"hello world hello"}`)

func benchRun(now machine.Time) *machine.Run {
	return &machine.Run{
		Header: machine.Header{
			ID: uuid.Must(uuid.NewV7()).String(), Tenant: "default", Workflow: "bench", Version: 1, MachineVersion: 1,
			CreatedAt: now,
		},
		Status: machine.Running, Seq: 1, At: now, StartedAt: now,
		Root: &machine.Scope{States: machine.States{'r', 'p', 'p', 'p', 'p'}, Run: &machine.RunDoc{}},
	}
}

func benchTask(path string, prev int64) machine.StartTask {
	ref := machine.Ref{Seq: prev}
	return machine.StartTask{
		Path: path, Queue: "default", Handler: "noop", Env: machine.Env{Prev: machine.Data{Kind: machine.ByRef, Ref: ref}},
		Refs: []machine.Ref{ref},
	}
}

func benchStart(now machine.Time) store.Start {
	return store.Start{Settlement: store.Settlement{
		Run: benchRun(now), At: now, Effects: []machine.Effect{benchTask("s1", 1)},
		Entries: []store.Entry{{Seq: 1, At: now, Kind: machine.RunStarted, Payload: benchPayload}},
	}}
}

// benchOutcome settles the task that was claimed: one entry, the next task or the end.
func benchOutcome(c *store.Claimed, now machine.Time, more bool, hand store.HandOver) store.Settlement {
	after := *c.Run.Run.Saved()
	after.Seq++
	after.At = now
	st := store.Settlement{
		Run: &after, From: c.Run.Version, At: now, Hand: hand,
		Guards: []store.Guard{{Path: c.Path, Token: c.Token, Remove: true}},
		Entries: []store.Entry{{
			Seq: after.Seq, At: now, Kind: machine.TaskSucceeded, Path: c.Path, Attempt: c.Attempt, Payload: benchPayload,
		}},
		Effects: []machine.Effect{benchTask(fmt.Sprintf("s%d", after.Seq), after.Seq)},
	}
	if !more {
		after.Status, after.FinishedAt = machine.Succeeded, now
		st.Effects = []machine.Effect{machine.EndRun{Status: machine.Succeeded}}
	}
	return st
}

// benchURL names a database of a durable cluster: that of the environment, so that something else can be measured beside, or
// a fresh one.
func benchURL(b *testing.B) string {
	b.Helper()
	if url := os.Getenv("MILLRACE_BENCH_POSTGRES"); url != "" {
		return url
	}
	c := pgcluster.Start(b, pgcluster.Options{Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}})
	return c.URL(c.Database(b))
}

// wall is the time of this machine, and atStand that of a database whose clock stands.
func wall() machine.Time    { return machine.TimeOf(time.Now()) }
func atStand() machine.Time { return standing }

var benchSchemas atomic.Int64

func benchStore(b *testing.B, url string) *Store {
	b.Helper()
	schema := fmt.Sprintf("bench_%d_%d", os.Getpid(), benchSchemas.Add(1))
	s := open(b, url, Options{Schema: schema, Migrate: true})
	b.Cleanup(func() {
		if _, err := s.pool.Exec(context.WithoutCancel(b.Context()), "drop schema "+schema+" cascade"); err != nil {
			b.Log(err)
		}
	})
	return s
}

// benchStartAll starts n runs, 500 at a time, at what now gives.
func benchStartAll(b testing.TB, s *Store, n int, now func() machine.Time) {
	b.Helper()
	for left := n; left > 0; left -= 500 {
		var starts []store.Start
		for range min(left, 500) {
			starts = append(starts, benchStart(now()))
		}
		if _, err := s.Start(b.Context(), starts); err != nil {
			b.Fatal(err)
		}
	}
}

// benchLoop claims and settles until nothing is left, in batches, and gives how many steps it settled.
func benchLoop(b *testing.B, s *Store, batch int, steps int64) (settled int, err error) {
	token := int64(0)
	var held []store.Claimed
	for {
		if free := batch - len(held); free > 0 {
			token++
			claimed, err := s.Claim(b.Context(), store.Claim{
				Owner: "bench", Token: token, Lease: 30e9, Limit: free, Lanes: []store.LaneLimit{{Lane: 1, Limit: free}},
			})
			if err != nil {
				return settled, err
			}
			held = append(held, claimed...)
		}
		if len(held) == 0 {
			return settled, nil
		}
		token++
		now := machine.TimeOf(time.Now())
		hand := store.HandOver{Owner: "bench", Token: token, Lease: 30e9, Handlers: []string{"noop"}, Limit: 1}
		settlements := make([]store.Settlement, len(held))
		for i := range held {
			settlements[i] = benchOutcome(&held[i], now, held[i].Run.Run.Seq < steps, hand)
		}
		out, err := s.Settle(b.Context(), settlements)
		if err != nil {
			return settled, err
		}
		held = held[:0]
		for i := range out {
			if out[i].Result != store.Won {
				return settled, fmt.Errorf("settlement %d: %+v", i, out[i])
			}
			settled++
			held = append(held, out[i].Handed...)
		}
	}
}

// BenchmarkBacklog settles a backlog of b.N runs of one step, and of five, by loops side by side.
func BenchmarkBacklog(b *testing.B) {
	url := benchURL(b)
	for _, steps := range []int64{1, 5} {
		for _, loops := range []int{1, 3} {
			b.Run(fmt.Sprintf("steps=%d/loops=%d", steps, loops), func(b *testing.B) {
				s := benchStore(b, url)
				benchStartAll(b, s, b.N, wall)
				if _, err := s.pool.Exec(b.Context(), s.tables.Text("analyze millrace.tasks, millrace.runs, millrace.journal")); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				var total atomic.Int64
				var group sync.WaitGroup
				for range loops {
					group.Go(func() {
						n, err := benchLoop(b, s, 300, steps)
						total.Add(int64(n))
						if err != nil {
							b.Error(err)
						}
					})
				}
				group.Wait()
				if want := int64(b.N) * steps; total.Load() != want {
					b.Errorf("settled %d, want %d", total.Load(), want)
				}
				b.ReportMetric(float64(total.Load())/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}

// BenchmarkStart starts runs in batches of 500.
func BenchmarkStart(b *testing.B) {
	s := benchStore(b, benchURL(b))
	b.ResetTimer()
	benchStartAll(b, s, b.N, wall)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkAlone takes one run of one step from its start to its end, handed over from the start on.
func BenchmarkAlone(b *testing.B) {
	s := benchStore(b, benchURL(b))
	b.ResetTimer()
	for n := range b.N {
		now := machine.TimeOf(time.Now())
		st := benchStart(now)
		st.Hand = store.HandOver{Owner: "bench", Token: int64(n) + 1, Lease: 30e9, Handlers: []string{"noop"}, Limit: 1}
		started, err := s.Start(b.Context(), []store.Start{st})
		if err != nil || len(started[0].Handed) != 1 {
			b.Fatal(started, err)
		}
		out, err := s.Settle(b.Context(), []store.Settlement{benchOutcome(&started[0].Handed[0], now, false, store.HandOver{})})
		if err != nil || out[0].Result != store.Won {
			b.Fatal(out, err)
		}
	}
}

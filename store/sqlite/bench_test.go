package sqlite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

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

func benchTask(path string) machine.StartTask {
	ref := machine.Ref{Seq: 1}
	return machine.StartTask{
		Path: path, Queue: "default", Handler: "noop", Env: machine.Env{Prev: machine.Data{Kind: machine.ByRef, Ref: ref}},
		Refs: []machine.Ref{ref},
	}
}

func benchStart(now machine.Time) store.Start {
	return store.Start{Settlement: store.Settlement{
		Run: benchRun(now), At: now, Effects: []machine.Effect{benchTask("s1")},
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
		Effects: []machine.Effect{benchTask(fmt.Sprintf("s%d", after.Seq))},
	}
	if !more {
		after.Status, after.FinishedAt = machine.Succeeded, now
		st.Effects = []machine.Effect{machine.EndRun{Status: machine.Succeeded}}
	}
	return st
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchClaim(b *testing.B, s *Store, n int) []store.Claimed {
	b.Helper()
	out, err := s.Claim(b.Context(), store.Claim{
		Owner: "bench", Token: 7, Lease: 30e9, Limit: n, Lanes: []store.LaneLimit{{Lane: 1, Limit: n}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func benchStartAll(b *testing.B, s *Store, n int) {
	b.Helper()
	for left := n; left > 0; left -= 500 {
		var starts []store.Start
		for range min(left, 500) {
			starts = append(starts, benchStart(s.o.Clock()))
		}
		if _, err := s.Start(b.Context(), starts); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSettle settles one step for each b.N, in batches, going on with the next step until a run has its steps.
func BenchmarkSettle(b *testing.B) {
	for _, batch := range []int{1, 20, 200} {
		for _, steps := range []int64{1, 10} {
			b.Run(fmt.Sprintf("batch=%d/steps=%d", batch, steps), func(b *testing.B) {
				s := benchStore(b)
				benchStartAll(b, s, b.N/int(steps)+batch)
				hand := store.HandOver{Owner: "bench", Token: 7, Lease: 30e9, Handlers: []string{"noop"}, Limit: 1}
				b.ResetTimer()
				var held []store.Claimed
				for done := 0; done < b.N; done += batch {
					held = append(held, benchClaim(b, s, batch-len(held))...)
					settlements := make([]store.Settlement, len(held))
					for i := range held {
						settlements[i] = benchOutcome(&held[i], s.o.Clock(), held[i].Run.Run.Seq < steps, hand)
					}
					settled, err := s.Settle(b.Context(), settlements)
					if err != nil {
						b.Fatal(err)
					}
					held = held[:0]
					for i := range settled {
						if settled[i].Result != store.Won {
							b.Fatal(settled[i])
						}
						held = append(held, settled[i].Handed...)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "settled/s")
			})
		}
	}
}

// BenchmarkStart starts runs in batches of 200.
func BenchmarkStart(b *testing.B) {
	s := benchStore(b)
	b.ResetTimer()
	benchStartAll(b, s, b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "started/s")
}

package millrace_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
)

// shapes are workflows that open scopes of every kind, and leave them in every way.
var shapes = map[string]struct {
	file, input string
	retry       bool // once more, when it has ended
}{
	"nested": {file: `
steps:
  m:
    map:
      over: "1..3"
      parallel: 2
      steps:
        - { id: x, task: do, with: 1 }
        - { id: p, parallel: { l: { do: { task: do, with: 1 } }, r: { steps: { y: { task: do }, z: { after: y, task: do } } } } }
  l: { after: m, loop: { until: "pass.number >= 2", do: { task: do, with: 1 } } }
  s: { after: l, switch: [ { when: "true", steps: { q: { task: do, with: 1 } } } ] }
  k: { after: s, steps: { w: { task: do, with: 1 }, v: { map: { over: "1..2", do: { task: do, with: 1 } } } } }
`},
	"catches": {file: `
steps:
  - { id: a, task: do, with: { fail: odd }, catch: { do: { task: do, with: 1 } } }
  - { id: b, map: { over: "1..2", do: { task: do, with: { fail: http_404 }, catch: { only: [http_4xx], do: { task: do, with: 1 } } } } }
  - { id: c, steps: [ { id: d, task: do, with: { fail: odd } } ], catch: { steps: [ { id: e, task: do, with: 1 }, { id: f, task: do } ] } }
  - { id: g, parallel: { one: { do: { task: do, with: { fail: odd } } }, two: { do: { task: do, with: 1 } } }, need: 1 }
  - { id: h, map: { over: "1..3", tolerate: 3, do: { task: do, with: { fail: odd } } } }
`},
	"jumps and tries": {input: `[1, 2, 3]`, file: `
steps:
  - { id: poll, task: do, with: "${ prev[1:] }" }
  - { id: more, switch: [ { when: "len(prev) > 0", next: poll } ] }
  - id: lines
    retry: { attempts: 2, delay: 1ms }
    on_error: continue
    steps:
      - { id: pick, task: do, with: 1, compensate: { task: do, with: 1 } }
      - { id: box, map: { over: "1..2", do: { task: do, with: 1, compensate: { task: do, with: 1 } } } }
      - { id: pack, task: do, with: { again: odd }, retry: { attempts: 2, delay: 1ms } }
`},
	"undoing and finally": {retry: true, file: `
finally: { steps: [ { id: count, task: do, with: 1 }, { id: sweep, parallel: { l: { do: { task: do } }, r: { do: { task: do } } } } ] }
steps:
  - { id: a, task: do, with: 1, compensate: { task: do, with: 1 } }
  - { id: m, map: { over: "1..2", steps: [ { id: x, task: do, with: 1, compensate: { task: do, with: 1 } } ] } }
  - { id: n, steps: [ { id: y, task: do, with: 1 } ], compensate: { task: do, with: 1 } }
  - id: o
    map:
      over: "1..2"
      steps: [ { id: p, steps: [ { id: q, task: do, with: 1 } ], compensate: { task: do, with: 1 } } ]
  - { id: z, task: do, with: { fail: odd }, compensate: { task: do, with: 1 } }
`},
	"tries that are undone": {file: `
finally: { do: { task: do, with: 1, retry: 2 } }
steps:
  - id: m
    map:
      over: "1..2"
      steps:
        - id: p
          retry: { attempts: 2, delay: 1ms }
          on_error: continue
          compensate: { task: do, with: 1 }
          steps: [ { id: q, task: do, with: 1 }, { id: r, task: do, with: { fail: odd } } ]
  - id: lines
    retry: { attempts: 2, delay: 1ms }
    catch: { next: z }
    compensate: { task: do, with: 1 }
    steps: [ { id: q, task: do, with: 1 }, { id: r, task: do, with: { fail: odd } } ]
  - { id: z, fail: { code: enough } }
`},
	"deep": {input: `[1, 2]`, file: `
steps:
  - id: mm
    map:
      over: input
      do:
        map:
          over: "1..2"
          do:
            loop:
              over: "1..2"
              do:
                switch:
                  - { when: "pass.number == 1", steps: [ { id: s, task: do, with: 1 }, { id: t, task: do, with: 1, when: "false" } ] }
                  - { do: { task: do, with: 1 } }
  - { id: lap, loop: { until: "pass.number >= 2", steps: [ { id: u, task: do, with: "${ [1, 2] }", next: v }, { id: v, task: do, with: "${ prev[1:] }" }, { id: w, switch: [ { when: "len(prev) > 0", next: v } ] } ] } }
  - id: par
    parallel:
      one: { steps: { a: { task: do, with: 1 }, b: { after: a, steps: { c: { task: do, with: { fail: odd } } }, on_error: continue } } }
      two: { do: { steps: [ { id: d, task: do, with: 1, compensate: { task: do, with: 1 } } ] } }
      three: { do: { task: do, with: { fail: odd }, catch: { steps: [ { id: e, task: do, with: 1 } ] } } }
  - { id: last, task: do, with: { fail: odd } }
`},
	"what gives up": {file: `
on_compensation_failure: continue
steps:
  - { id: a, task: do, with: 1, compensate: { task: do, with: { fail: odd } } }
  - { id: b, task: do, with: 1, compensate: { task: do, with: { again: odd }, retry: { attempts: 2, delay: 1ms } } }
  - { id: c, steps: [ { id: d, task: do, with: 1, compensate: { task: do, with: 1 } }, { id: e, task: do, with: { fail: odd } } ] }
`},
}

// turns has the attempts of a handler wait until they are looked at, one after the other.
type turns struct {
	bench *bench
	begun chan struct{}
	next  chan struct{}
}

func (h *turns) do(ctx context.Context, a *engine.Attempt) (json.RawMessage, error) {
	for _, step := range []func() bool{
		func() bool { return send(ctx, h.begun) },
		func() bool { return receive(ctx, h.next) },
	} {
		if !step() {
			return nil, ctx.Err()
		}
	}
	return h.bench.do(ctx, a)
}

func send(ctx context.Context, c chan<- struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func receive(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// O3: whatever scopes a run has opened and left, a view has all that is under way in it, and all that its journal tells of.
func TestAViewHasAllThatIsUnderWayAndAllThatWas(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &turns{begun: make(chan struct{}), next: make(chan struct{})}
			b := newBench(t, func(c *engine.Config) {
				c.Slots, c.Handlers = 1, map[string]engine.Handler{"do": engine.HandlerFunc(h.do)}
			})
			h.bench = b
			b.begun = make(chan string, 10_000)
			input := shape.input
			if input == "" {
				input = "{}"
			}
			id := b.start("workflow: w\n"+shape.file, "", input)
			b.run()
			b.turns(h, id)
			if !shape.retry {
				return
			}
			if _, err := b.client.Retry(t.Context(), "default", id, millrace.RetryOrder{}); err != nil {
				t.Fatal(err)
			}
			b.turns(h, id)
		})
	}
}

// turns looks at each attempt of a run, and at its end.
func (b *bench) turns(h *turns, id string) {
	b.t.Helper()
	for {
		select {
		case <-h.begun:
			b.whole(id)
			h.next <- struct{}{}
		case <-b.ended:
			b.whole(id)
			return
		case <-b.t.Context().Done():
			return
		}
	}
}

// whole compares a run's views with its live tasks and its journal. Nothing of the run changes meanwhile.
func (b *bench) whole(id string) {
	b.t.Helper()
	tasks, err := b.st.Tasks(b.t.Context(), "default", id, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	entries, err := b.client.Journal(b.t.Context(), "default", id, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	live, full := b.show(id, millrace.ShowOptions{Live: true, Steps: -1}), b.show(id, millrace.ShowOptions{Steps: -1})
	for _, v := range []*millrace.View{live, full} {
		for i := range tasks {
			if s := standing(v, tasks[i].Path); !slices.Contains([]string{"ready", "running", "retrying", "waiting"}, s) {
				b.t.Errorf("at %d: task %s is live, and shown as %q", v.Seq, tasks[i].Path, s)
			}
		}
	}
	last := ends(entries)
	for i := range tasks {
		delete(last, tasks[i].Path)
	}
	for path, kind := range last {
		if strings.HasSuffix(path, machine.UndoSuffix) && (!full.Status.Ended() || triedAgain(entries, path)) {
			continue // a view has the compensation of the last try alone
		}
		want := []string{"succeeded", "compensating", "compensated"}
		if kind == machine.TaskFailed {
			want = []string{"failed", "caught", "running", "compensating", "compensated"} // running: what caught it
		}
		if s := standing(full, path); !slices.Contains(want, s) {
			b.t.Errorf("at %d: the journal ends %s with %s, and it is shown as %q", full.Seq, path, kind, s)
		}
	}
}

// ends gives how the last attempt of each task ended.
func ends(entries []millrace.JournalEntry) map[string]machine.EventKind {
	out := map[string]machine.EventKind{}
	for _, e := range entries {
		if e.Kind == machine.TaskSucceeded || e.Kind == machine.TaskFailed {
			out[e.Path] = e.Kind
		}
	}
	return out
}

// triedAgain says whether a composite was tried again after the try that a compensation undid.
func triedAgain(entries []millrace.JournalEntry, undo string) bool {
	path, try := strings.TrimSuffix(undo, machine.UndoSuffix), 1
	if i := strings.LastIndexByte(path, '~'); i >= 0 {
		if n, err := strconv.Atoi(path[i+1:]); err == nil {
			path, try = path[:i], n
		}
	}
	next := path + "~" + strconv.Itoa(try+1)
	return slices.ContainsFunc(entries, func(e millrace.JournalEntry) bool { return strings.HasPrefix(e.Path, next) })
}

// standing gives how a task is shown; "" when it is not.
func standing(v *millrace.View, path string) string {
	for _, s := range v.Steps {
		switch {
		case strings.HasSuffix(path, machine.UndoSuffix) && s.Undo != nil && s.Undo.Path == path:
			return s.Undo.Status
		case s.Path == path:
			return s.Status
		}
	}
	return ""
}

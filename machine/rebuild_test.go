package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strings"
	"testing"
)

// volumes is a journal that is made as it is read: a step whose output is read at the end, many items with large outputs, and a
// last step, which fails. Payloads are made anew each time.
type volumes struct {
	items int
	bytes int // of an output
	loads int // payloads that were asked for
}

const volumesText = `
steps:
  first: { task: h }
  many: { after: first, map: { over: input, as: n, parallel: 100, do: { task: h } } }
  sum: { after: many, set: { title: "${ steps.first.output.title }" } }
  last: { after: sum, task: h }
`

func (v *volumes) length() int64 { return int64(v.items) + 3 }

func (v *volumes) payload(seq int64) json.RawMessage {
	switch seq {
	case 1:
		return json.RawMessage("[" + strings.Repeat("7,", v.items-1) + "7]")
	case v.length():
		return json.RawMessage(`{"code":"broken","message":"no","final":true}`)
	default:
		return json.RawMessage(`{"title":"t","text":"` + strings.Repeat("x", v.bytes) + `"}`)
	}
}

func (v *volumes) event(seq int64) Event {
	ev := Event{Kind: TaskSucceeded, At: Time(seq), Attempt: 1, Payload: v.payload(seq)}
	switch seq {
	case 1:
		ev.Kind, ev.Attempt = RunStarted, 0
	case 2:
		ev.Path = "first"
	case v.length():
		ev.Kind, ev.Path = TaskFailed, "last"
	default:
		ev.Path = fmt.Sprintf("many[%d]", seq-3)
	}
	return ev
}

// events gives the journal, and calls between after each entry.
func (v *volumes) events(between func(seq int64)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for seq := int64(1); seq <= v.length() && yield(v.event(seq), nil); seq++ {
			between(seq)
		}
	}
}

func (v *volumes) load(refs []Ref) (map[Ref]json.RawMessage, error) {
	v.loads += len(refs)
	found := map[Ref]json.RawMessage{}
	for _, r := range refs {
		if r.Key != "" {
			return nil, fmt.Errorf("value %s is read", r)
		}
		found[r] = v.payload(r.Seq)
	}
	return found, nil
}

// X10: what a rebuild holds of a journal does not grow with the payloads in it. MILLRACE_TEST_JOURNAL=full: 100,000 entries.
//
//nolint:paralleltest // it measures the heap
func TestRebuildHoldsFewPayloadsHoweverLongTheJournal(t *testing.T) {
	v := &volumes{items: 10_000, bytes: 20_000}
	if os.Getenv("MILLRACE_TEST_JOURNAL") == "full" {
		v.items = 99_000
	}
	def := read(t, volumesText)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	most := 0
	run, err := Rebuild(def, Header{ID: "r"}, v.events(func(seq int64) {
		if seq%(v.length()/4) == 0 {
			most = max(most, heap()-before)
		}
	}), v.load)
	if err != nil || run.Status != Failed {
		t.Fatal(run.Status, err)
	}
	t.Logf("%d entries with %d MB of payloads: %d MB held, %d payloads loaded", v.length(), v.items*v.bytes>>20, most>>20, v.loads)
	if limit := 2*rebuildBytes + v.items*1_000; most > limit {
		t.Errorf("%d bytes are held, not %d", most, limit)
	}
	if v.loads == 0 || v.loads > 10 {
		t.Errorf("%d payloads were loaded", v.loads)
	}
	retry := Event{Kind: RetryRequested, At: run.At, Payload: json.RawMessage(`{}`)}
	if again, effects, err := Apply(def, run, retry); err != nil || again.Status != Running || len(effects) == 0 {
		t.Errorf("a retry of the run: %s, %v, %v", again.Status, effects, err)
	}
}

func TestRebuildGivesWhatReplayGivesWhereverPayloadsComeFrom(t *testing.T) {
	t.Parallel()
	v := &volumes{items: 300, bytes: 100_000}
	def := read(t, volumesText)
	var all []Event
	for ev, err := range v.events(func(int64) {}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	want, err := Replay(def, Header{}, all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Rebuild(def, Header{}, Recorded(all), v.load)
	if err != nil || string(got.EncodeRoot()) != string(want.EncodeRoot()) {
		t.Errorf("rebuilt %s, %v; replayed %s", got.EncodeRoot(), err, want.EncodeRoot())
	}
	if v.loads == 0 {
		t.Error("nothing was loaded")
	}
}

func TestRebuildEndsWithTheFaultOfItsSourceAndTellsItFromDamage(t *testing.T) {
	t.Parallel()
	v := &volumes{items: 300, bytes: 100_000}
	def := read(t, volumesText)
	away := errors.New("away")
	none := func(int64) {}
	for name, test := range map[string]struct {
		events  iter.Seq2[Event, error]
		load    Payloads
		seq     int64
		damaged bool
	}{
		"the journal": {func(yield func(Event, error) bool) {
			if yield(v.event(1), nil) && yield(Event{}, away) {
				t.Error("it goes on after an error")
			}
		}, v.load, 1, false},
		"a payload":                 {v.events(none), func([]Ref) (map[Ref]json.RawMessage, error) { return nil, away }, v.length() - 2, false},
		"a payload that is no more": {v.events(none), func([]Ref) (map[Ref]json.RawMessage, error) { return nil, nil }, v.length() - 2, true},
	} {
		run, err := Rebuild(def, Header{}, test.events, test.load)
		if errors.Is(err, away) == test.damaged || errors.Is(err, ErrDamaged) != test.damaged || run.Seq != test.seq {
			t.Errorf("%s: after entry %d, %v", name, run.Seq, err)
		}
	}
}

func TestRecentHoldsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	c := recent{limit: 4 * room(make([]byte, 1000))}
	text := func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("x", n)) }
	held := func() (seqs []int64) {
		for seq := range int64(10) {
			if c.of[Ref{Seq: seq}] != nil {
				seqs = append(seqs, seq)
			}
		}
		return seqs
	}
	expect := func(want ...int64) {
		t.Helper()
		if got := held(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("held are %v, not %v", got, want)
		}
	}
	for seq := range int64(5) {
		c.put(Ref{Seq: seq}, text(1000))
	}
	expect(1, 2, 3, 4)
	if _, ok := c.get(Ref{Seq: 1}); !ok {
		t.Error("what is held is not given")
	}
	c.put(Ref{Seq: 5}, text(1000))
	expect(1, 3, 4, 5)
	c.put(Ref{Seq: 5}, text(2000)) // in place of the first
	expect(1, 4, 5)
	c.put(Ref{Seq: 6}, text(100_000)) // the newest stays, whatever its size
	expect(6)
	c.put(Ref{Seq: 7}, text(1000))
	expect(7)
	if c.bytes != room(text(1000)) || c.order.Len() != 1 {
		t.Errorf("%d bytes in %d payloads", c.bytes, c.order.Len())
	}
}

package pace_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/engine/internal/pace"
)

const ms = time.Millisecond

// hand is a clock that a test moves by hand, and a gathering of two settlers whose last settlement took 4 ms.
type hand struct {
	*pace.Gathering
	now time.Time
}

func newHand() *hand {
	h := &hand{&pace.Gathering{Full: 100, Settlers: 2}, time.Unix(0, 0)}
	h.Took(4 * ms)
	return h
}

func (h *hand) begin(n int) (w *pace.Wave) {
	for range n {
		w = h.Begun(h.now)
	}
	return w
}

func (h *hand) wait(runs, aboard int) time.Duration { return h.Wait(h.now, runs, aboard, false) }

func TestASettlerLeavesWhatIsLessThanItsShareOfWhatIsInHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                string
		fresh, runs, aboard int
		want                time.Duration
	}{
		{"an outcome that is alone goes at once", 0, 1, 0, 0},
		{"so does one beside another that has just begun", 1, 1, 0, 0},
		{"one of many that began together waits for them", 31, 1, 0, 4 * ms},
		{"until half of them are there", 31, 31, 0, 0},
		{"one waits for a settlement of many, which brings their next tasks", 0, 1, 31, 4 * ms},
		{"half of what is in hand goes beside the other half", 0, 32, 32, 0},
		{"less than half does not", 32, 31, 1, 4 * ms},
		{"a full batch waits for nothing", 900, 100, 99, 0},
		{"nothing waits for nothing", 50, 0, 50, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHand()
			h.begin(c.fresh)
			if got := h.wait(c.runs, c.aboard); got != c.want {
				t.Errorf("it waits for %s, want %s", got, c.want)
			}
		})
	}
}

func TestNothingWaitsLongerThanASettlementTakes(t *testing.T) {
	t.Parallel()
	h := newHand()
	h.wait(1, 50)
	h.now = h.now.Add(3 * ms)
	if got := h.wait(2, 50); got != ms {
		t.Errorf("after 3 ms of 4 it waits for %s", got)
	}
	late := h.begin(50) // what begins now does not prolong it
	h.now = h.now.Add(ms)
	if got := h.wait(2, 50); got != 0 {
		t.Errorf("after 4 ms of 4 it waits for %s", got)
	}
	for range 50 {
		late.Ended()
	}
	h.Taken()
	if got := h.wait(1, 50); got != 4*ms {
		t.Errorf("the next one waits for %s", got)
	}
	h.Taken()
	h.Took(time.Minute) // the store was away
	if got := h.wait(1, 50); got != 50*ms {
		t.Errorf("after a settlement that took a minute it waits for %s", got)
	}
}

func TestNothingWaitsForAttemptsThatTakeLongerThanASettlement(t *testing.T) {
	t.Parallel()
	h := newHand()
	slow := h.begin(60)
	h.now = h.now.Add(3 * ms)
	if got := h.wait(1, 0); got != ms {
		t.Errorf("what began 3 ms ago is waited for %s, want 1 ms more", got)
	}
	h.Taken()
	h.now = h.now.Add(ms)
	if got := h.wait(1, 0); got != 0 {
		t.Errorf("what began 4 ms ago is waited for %s", got)
	}
	quick := h.begin(3)
	h.Taken()
	if got := h.wait(1, 0); got != 4*ms {
		t.Errorf("what has just begun is waited for %s", got)
	}
	quick.Ended()
	quick.Ended()
	slow.Ended()
	if got := h.wait(1, 0); got != 0 {
		t.Errorf("one that goes on is waited for %s", got)
	}
}

func TestAShortSettlementAfterALongOneCountsHalf(t *testing.T) {
	t.Parallel()
	h := newHand()
	for _, want := range []time.Duration{2 * ms, ms, ms} {
		h.Took(ms)
		if got := h.wait(1, 50); got != want {
			t.Errorf("it waits for %s, want %s", got, want)
		}
		h.Taken()
	}
}

func TestASettlerLooksWhenAWaitBeginsAndWhenItIsOver(t *testing.T) {
	t.Parallel()
	h := newHand()
	heed := func(runs int) bool { return h.Heed(h.now, runs, 50, false) }
	if !heed(1) {
		t.Error("nobody looks for how long the first one waits")
	}
	if heed(2) || heed(49) {
		t.Error("somebody looks though nothing has changed")
	}
	if !heed(50) {
		t.Error("nobody looks when enough is there")
	}
}

func TestWhileTasksWaitForSlotsASettlerLeavesWhatIsThereUntilAllIs(t *testing.T) {
	t.Parallel()
	h := newHand()
	w := h.begin(2)
	for _, c := range []struct {
		runs, aboard int
		want         time.Duration
	}{{50, 0, 4 * ms}, {50, 1, 4 * ms}, {100, 1, 0}, {1, 0, 4 * ms}} {
		if got := h.Wait(h.now, c.runs, c.aboard, true); got != c.want {
			t.Errorf("%d outcomes beside %d that are being settled wait for %s, want %s", c.runs, c.aboard, got, c.want)
		}
	}
	w.Ended()
	w.Ended()
	if got := h.Wait(h.now, 1, 0, true); got != 0 {
		t.Errorf("one that is alone waits for %s", got)
	}
}

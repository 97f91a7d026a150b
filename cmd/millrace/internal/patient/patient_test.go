package patient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/store"
)

var errAway = &store.StoreError{Op: "claim", Kind: store.ErrUnavailable, Err: errors.New("nobody listens")}

// A run that is handed from step to step need never claim again, so what a claim met once says nothing for ever.
func TestAFaultLapsesWhenItsOperationIsNotCalledAnyMoreAndOthersSucceed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var st Store
		began := time.Now()
		st.Heard("claim", errAway)
		for range 9 {
			<-time.After(time.Second)
			st.Heard("settle", nil)
		}
		if got := st.Trouble(); got.Err == nil || !got.Since.Equal(began) {
			t.Fatalf("after 9 s: %+v", got)
		}
		<-time.After(time.Second)
		st.Heard("settle", nil)
		if got := st.Trouble(); got.Err != nil {
			t.Errorf("after 10 s: %v", got.Err)
		}
	})
}

func TestAFaultStaysWhileItsOperationGoesOnFailing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var st Store
		began := time.Now()
		for range 60 {
			st.Heard("settle", errAway)
			<-time.After(2 * time.Second)
			st.Heard("look", nil)
		}
		if got := st.Trouble(); got.Err == nil || !got.Since.Equal(began) {
			t.Errorf("after 2 min: %+v", got)
		}
	})
}

func TestAFaultStaysWhileNothingElseSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var st Store
		st.Heard("claim", errAway)
		<-time.After(time.Second)
		st.Heard("look", nil)
		<-time.After(time.Hour)
		st.Heard("look", context.Canceled)
		if got := st.Trouble(); got.Err == nil {
			t.Error("it was forgotten")
		}
	})
}

// halting is a store whose settlements fail until one is left without an answer.
type halting struct {
	store.Store
	calls int
	hold  chan struct{}
}

func (h *halting) Settle(context.Context, []store.Settlement) ([]store.Settled, error) {
	if h.calls++; h.calls > 1 {
		<-h.hold
	}
	return nil, errAway
}

func TestAFaultStaysWhileItsOperationIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &halting{hold: make(chan struct{})}
		st := Store{Store: h}
		if _, err := st.Settle(t.Context(), nil); err == nil {
			t.Fatal("it settled")
		}
		go func() { _, _ = st.Settle(t.Context(), nil) }()
		<-time.After(20 * time.Second)
		st.Heard("look", nil)
		if got := st.Trouble(); got.Err == nil {
			t.Error("it was forgotten while the next call waits for its answer")
		}
		close(h.hold)
	})
}

// An operation that has failed is not called again while another one that comes before it fails.
func TestTroubleLastsSinceTheFirstFaultAndSaysTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var st Store
		began := time.Now()
		refused := errors.New("connection refused")
		for _, f := range []struct {
			op  string
			err error
		}{{"claim", errAway}, {"settle", errAway}, {"stocked", refused}} {
			st.Heard(f.op, f.err)
			<-time.After(time.Second)
		}
		if got := st.Trouble(); !errors.Is(got.Err, refused) || !got.Since.Equal(began) {
			t.Errorf("got %+v", got)
		}
	})
}

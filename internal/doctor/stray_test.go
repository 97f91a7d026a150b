package doctor_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/internal/doctor"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// crowded is a store with other messages than its own.
type crowded struct {
	store.Store
	waiting []store.Message
}

func (s crowded) Inbox(_ context.Context, limit int) ([]store.Message, error) {
	return s.waiting[:min(limit, len(s.waiting))], nil
}

func TestMessagesOfEndedRunsAreFoundBehindAnyNumberOfOthers(t *testing.T) {
	t.Parallel()
	in(t, stuckText, func(w *ward) {
		ended, other := w.start(), w.start()
		w.tell(ended, machine.AbortRequested)
		<-time.After(time.Minute)
		rows := []store.RunRow{w.row(ended), w.row(other)}
		message := func(seq int64, tenant, run string) store.Message {
			return store.Message{Seq: seq, Tenant: tenant, RunID: run}
		}
		var waiting []store.Message
		for seq := range int64(2_000) {
			waiting = append(waiting, message(seq, tenant, other))
		}
		waiting = append(waiting, message(2_001, "another", ended), message(2_002, tenant, ended))
		w.doctor.Store = crowded{w.st, waiting}
		got, err := w.doctor.Strays(w.ctx, rows)
		want := []doctor.Finding{{Run: ended, Check: doctor.Ended, Message: "it has ended, and message 2002 waits for it"}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

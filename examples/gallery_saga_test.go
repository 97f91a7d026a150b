package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/store/sqlite"
)

// trade is all that the saga of the gallery talks to: a payment provider and a carrier behind HTTP, and the tasks of the shop's own
// program. It knows what is held for the one order that it gets.
type trade struct {
	mu     sync.Mutex
	held   []string // what was done and not undone
	refuse string   // what is refused for good
}

// does answers a request, or does a task, by a word: it is held from then on, unless it is to be refused.
func (w *trade) does(word string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == word {
		return millrace.Permanent(millrace.Fail("refused", errors.New(word)))
	}
	if !slices.Contains(w.held, word) {
		w.held = append(w.held, word)
	}
	return nil
}

// undoes lets go of what is held by a word, if it is.
func (w *trade) undoes(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = slices.DeleteFunc(w.held, func(held string) bool { return held == word })
}

func (w *trade) holds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(w.held))
}

// handlers are those of the shop's own program.
func (w *trade) handlers() []millrace.Handler {
	does := func(name, word, output string) millrace.Handler {
		return millrace.NewHandler(name, func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(output), w.does(word)
		})
	}
	undoes := func(name, word string) millrace.Handler {
		return millrace.NewHandler(name, func(context.Context, json.RawMessage) (any, error) {
			w.undoes(word)
			return nil, nil //nolint:nilnil // it has no output
		})
	}
	return []millrace.Handler{
		does("pricing.quote", "price", `{"total":4250,"currency":"EUR"}`), does("stock.reserve", "goods", `{"grams":1200}`), does("warehouse.pack", "parcel", `{}`),
		does("loyalty.credit", "points", `{}`), does("mail.send", "mail", `{}`),
		undoes("stock.release", "goods"), undoes("payments.refund", "money"), undoes("warehouse.put_back", "parcel"),
	}
}

// serve serves the payment provider and the carrier.
func (w *trade) serve(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	does := func(pattern, secret, word string, refusal int, answer string) {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != "Bearer "+secret || r.Header.Get("Idempotency-Key") == "":
				rw.WriteHeader(http.StatusUnauthorized)
			case w.does(word) != nil:
				rw.WriteHeader(refusal)
			default:
				rw.Header().Set("Content-Type", "application/json")
				rw.Write([]byte(answer)) //nolint:errcheck // who asked sees it
			}
		})
	}
	undoes := func(pattern, word string) {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, _ *http.Request) {
			w.undoes(word)
			rw.WriteHeader(http.StatusNoContent)
		})
	}
	does("POST /authorisations", "pay-secret", "authorisation", http.StatusPaymentRequired, `{"id":"a-1"}`)
	does("POST /authorisations/a-1/capture", "pay-secret", "money", http.StatusConflict, `{}`)
	does("POST /shipments", "carrier-secret", "carrier", http.StatusUnprocessableEntity, `{"label":"l","tracking":"t-1"}`)
	undoes("DELETE /authorisations/by-key/{key...}", "authorisation")
	undoes("DELETE /shipments/by-reference/O-1", "carrier")
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// work has the shop's own program serve its tasks until the test ends.
func (w *trade) work(t *testing.T, db string) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := millrace.New(st, millrace.Config{Handlers: w.handlers()})
	if err != nil {
		t.Fatal(errors.Join(err, st.Close()))
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-over, st.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// X1, X3, X5: whatever is refused, the order ends delivered, or as if it had never been; once the parcel is handed over it stays.
func TestTheSagaOfTheGalleryEndsDoneOrUndone(t *testing.T) {
	t.Parallel()
	delivered := []string{"authorisation", "carrier", "goods", "money", "parcel", "price"}
	for _, c := range []struct {
		refuse, status, code string
		undone               []string // in any order where branches run side by side
		left                 []string // the price and the mail are nothing that could be undone
		perhaps              string   // what runs beside the one that fails, and may have been too late to begin
	}{
		{status: "succeeded", left: append([]string{"mail", "points"}, delivered...)},
		{refuse: "goods", status: "failed", code: "refused", undone: []string{"reserve"}, left: []string{"price"}},
		{refuse: "money", status: "failed", code: "http_409", undone: []string{"capture", "authorise", "book", "reserve"}, left: []string{"price"}},
		{refuse: "parcel", status: "failed", code: "refused", undone: []string{"pack", "capture", "authorise", "book", "reserve"}, left: []string{"price"}},
		{refuse: "authorisation", status: "failed", code: "declined", undone: []string{"authorise", "reserve"}, left: []string{"price"}, perhaps: "book"},
		{refuse: "mail", status: "succeeded", left: append([]string{"points"}, delivered...)},
		{refuse: "points", status: "failed", code: "refused", left: delivered, perhaps: "mail"},
	} {
		t.Run(c.status+" without "+c.refuse, func(t *testing.T) {
			t.Parallel()
			db, w := filepath.Join(t.TempDir(), "m.db"), &trade{refuse: c.refuse}
			w.work(t, db)
			address := w.serve(t)
			_, e := doWith[ended](t, db, []string{"MILLRACE_SECRET_PAYMENTS=pay-secret", "MILLRACE_SECRET_CARRIER=carrier-secret"},
				"run", "gallery/order-saga.yaml", "--key", "O-1", "--var", "payments="+address, "--var", "carrier="+address,
				"--input", `{"customer":"c","card":"tok","address":{},"lines":[{"sku":"tea","quantity":2}]}`)
			if e.Status != c.status || c.code != "" && (e.Error == nil || e.Error.Code != c.code) {
				t.Errorf("ended %s with %+v", e.Status, e.Error)
			}
			got := undone(t, db)
			if len(got) > 0 && (got[0] != c.undone[0] || got[len(got)-1] != "reserve") {
				t.Errorf("undone in the order %v", got)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.undone)), slices.Sorted(slices.Values(without(got, c.perhaps)))); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.left)), without(w.holds(), c.perhaps)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

func without(list []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == word })
}

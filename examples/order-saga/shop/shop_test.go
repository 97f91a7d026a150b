package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shop is the three services of a test, by name.
type shop map[string]string

func newShop(t *testing.T, folder string) shop {
	t.Helper()
	out := shop{}
	for _, s := range services(slog.New(slog.DiscardHandler)) {
		book, err := open(filepath.Join(folder, s.name+".db"))
		if err != nil {
			t.Fatal(err)
		}
		s.book = book
		server := httptest.NewUnstartedServer(s.handler())
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		server.Start()
		t.Cleanup(func() {
			server.Close()
			if err := book.close(); err != nil {
				t.Error(err)
			}
		})
		out[s.name] = server.URL
	}
	return out
}

// ask gives the status of an answer, 0 when none came, and the answer.
func (s shop) ask(t *testing.T, method, name, path, key, body string) (status int, answer string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s[name]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// amounts gives those of a ledger, oldest first.
func (s shop) amounts(t *testing.T, name string) (out []int64) {
	t.Helper()
	_, text := s.ask(t, http.MethodGet, name, "/ledger", "", "")
	var all []entry
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, e := range all {
		out = append(out, e.Amount)
	}
	return out
}

// Each story is a list of requests to one service, with the statuses of the answers and the ledger at the end.
func TestTheServicesKeepTheirWord(t *testing.T) {
	t.Parallel()
	type asked struct {
		method, path, key, body string
		status                  int
	}
	const post, del = http.MethodPost, http.MethodDelete
	goods := `{ "order": "o", "lines": [{ "sku": "tea", "pieces": 2 }] }`
	for name, c := range map[string]struct {
		service string
		story   []asked
		want    []int64
	}{
		"what is asked twice is done once": {"stock", []asked{{post, "/reservations", "k", goods, 201}, {post, "/reservations", "k", goods, 201}}, []int64{2}},
		"a key stands for one request":     {"payments", []asked{{post, "/charges", "k", `{ "order": "o", "cents": 5 }`, 201}, {post, "/charges", "k", `{ "order": "o", "cents": 6 }`, 400}}, []int64{5}},
		"a request without a key":          {"stock", []asked{{post, "/reservations", "", goods, 400}, {del, "/reservations?key=k", "", "", 400}, {del, "/reservations", "u", "", 400}}, nil},
		"a request for nothing":            {"stock", []asked{{post, "/reservations", "k", `{ "order": "o" }`, 400}, {post, "/reservations", "k", `{`, 400}}, nil},
		"goods that there are not":         {"stock", []asked{{post, "/reservations", "k", `{ "order": "o", "lines": [{ "sku": "car", "pieces": 1 }] }`, 400}}, nil},
		"what was refused may come again":  {"payments", []asked{{post, "/charges", "k", `{ "order": "o", "cents": 5, "refuse": true }`, 402}, {post, "/charges", "k", `{ "order": "o", "cents": 5 }`, 201}}, []int64{5}},
		"it is undone once":                {"stock", []asked{{post, "/reservations", "k", goods, 201}, {del, "/reservations?key=k", "u", "", 200}, {del, "/reservations?key=k", "u", "", 200}, {del, "/reservations?key=k", "v", "", 200}}, []int64{2, -2}},
		"it was undone, and comes again":   {"stock", []asked{{post, "/reservations", "k", goods, 201}, {del, "/reservations?key=k", "u", "", 200}, {post, "/reservations", "k", goods, 410}}, []int64{2, -2}},
		"it is undone before it comes":     {"shipping", []asked{{del, "/parcels?key=k", "u", "", 200}, {del, "/parcels?key=k", "u", "", 200}, {post, "/parcels", "k", `{ "order": "o", "pieces": 2 }`, 410}}, nil},
		"an answer is lost":                {"shipping", []asked{{post, "/parcels", "k", `{ "order": "o", "pieces": 2, "silent": true }`, 0}, {post, "/parcels", "k", `{ "order": "o", "pieces": 2 }`, 201}}, []int64{1}},
		"a charge is disputed": {"payments", []asked{
			{post, "/charges", "k", `{ "order": "o", "cents": 5, "dispute": true }`, 201},
			{post, "/refunds?key=k", "u", "", 409},
			{post, "/settle", "s", "", 200},
			{post, "/refunds?key=k", "u", "", 200},
			{post, "/refunds?key=k", "u", "", 200},
		}, []int64{5, -5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, t.TempDir())
			for i, q := range c.story {
				if status, answer := s.ask(t, q.method, c.service, q.path, q.key, q.body); status != q.status {
					t.Errorf("request %d, %s %s: %d, not %d: %s", i+1, q.method, q.path, status, q.status, answer)
				}
			}
			if diff := cmp.Diff(c.want, s.amounts(t, c.service)); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyWhoAskTheSameAtOnceGetOneEntry(t *testing.T) {
	t.Parallel()
	s := newShop(t, t.TempDir())
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if status, answer := s.ask(t, http.MethodPost, "payments", "/charges", "k", `{ "order": "o", "cents": 5 }`); status != http.StatusCreated {
				t.Errorf("%d: %s", status, answer)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff([]int64{5}, s.amounts(t, "payments")); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestTheBooksSayWhatBecameOfEachOrder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := newShop(t, folder)
	for _, order := range []string{"whole", "half", "undone"} {
		s.ask(t, http.MethodPost, "stock", "/reservations", order, `{ "order": "`+order+`", "lines": [{ "sku": "pot", "pieces": 1 }] }`)
		if order != "half" {
			s.ask(t, http.MethodPost, "payments", "/charges", order, `{ "order": "`+order+`", "cents": 3405 }`)
			s.ask(t, http.MethodPost, "shipping", "/parcels", order, `{ "order": "`+order+`", "pieces": 1 }`)
		}
	}
	s.ask(t, http.MethodDelete, "stock", "/reservations?key=undone", "u", "")
	s.ask(t, http.MethodPost, "payments", "/refunds?key=undone", "u", "")
	s.ask(t, http.MethodDelete, "shipping", "/parcels?key=undone", "u", "")
	var out, messages bytes.Buffer
	if err := run(t.Context(), []string{"-folder", folder, "books"}, &out, &messages); err != nil {
		t.Fatalf("%v\n%s", err, messages.String())
	}
	want := []string{
		"ORDER   RESERVED  CHARGED  SENT  SO IT IS",
		"whole   1         34.05    1     delivered",
		"half    1         0.00     0     neither done nor undone",
		"undone  0         0.00     0     as if it had never been",
		"",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
}

func TestWordsThatTheCommandDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-folder", t.TempDir(), "book"}, {"-colour", "red"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was understood", args)
		}
	}
}

package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saga is a shop of its own with a database of runs.
type saga struct {
	db      string
	vars    []string          // --var of each service
	address map[string]string // of each service
}

// newSaga starts the built shop and reads where its services are.
func newSaga(t *testing.T) *saga {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), shopBinary, "-port", "0", "-folder", filepath.Join(folder, "ledgers"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the shop: %v", err)
		}
	})
	s := &saga{db: filepath.Join(folder, "m.db"), address: map[string]string{}}
	for lines := bufio.NewScanner(out); len(s.address) < 3 && lines.Scan(); {
		words := strings.Fields(lines.Text())
		s.address[words[0]] = words[1]
		s.vars = append(s.vars, "--var", words[0]+"="+words[1])
	}
	return s
}

// killer stands between a process and the shop. It lets requests through, and answers, but for the last of a number: that one is
// done, and the process is killed before it can know.
type killer struct {
	left    atomic.Int64
	started chan struct{} // closed when kill may be called
	kill    func() error
}

func (s *saga) between(t *testing.T, requests int64) *killer {
	t.Helper()
	k := &killer{started: make(chan struct{})}
	k.left.Store(requests)
	s.vars = nil
	for service, address := range s.address {
		to, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(to)
		proxy.ErrorLog = log.New(io.Discard, "", 0)
		proxy.ModifyResponse = func(resp *http.Response) error { return k.answered(resp.Request.Context()) }
		server := httptest.NewServer(proxy)
		t.Cleanup(server.Close)
		s.vars = append(s.vars, "--var", service+"="+server.URL)
	}
	return k
}

// answered decides what becomes of an answer: an error keeps it back until nobody is there to hear it.
func (k *killer) answered(ctx context.Context) error {
	if k.left.Add(-1) != 0 {
		return nil
	}
	<-k.started
	if err := k.kill(); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// order runs the workflow and gives the status of the command and the run.
func (s *saga) order(t *testing.T, failAt string) (int, ended) {
	t.Helper()
	return do[ended](t, s.db, append([]string{"run", "order-saga/order.yaml", "-i", "fail_at=" + failAt}, s.vars...)...)
}

// do runs the built binary and gives its exit status, and what it printed as JSON.
func do[T any](t *testing.T, db string, args ...string) (status int, out T) {
	t.Helper()
	return doWith[T](t, db, nil, args...)
}

// doWith is do with variables of the environment.
func doWith[T any](t *testing.T, db string, env []string, args ...string) (status int, out T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--db", "sqlite:"+db, "--json")...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, messages strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &messages
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(stdout.String()), &out); err != nil {
		t.Fatalf("millrace %s ended with %v and printed no JSON: %v\n%s%s", strings.Join(args, " "), cmd.ProcessState, err, stdout.String(), messages.String())
	}
	return cmd.ProcessState.ExitCode(), out
}

// letter is a dead letter as the command line shows it.
type letter struct {
	ID   json.Number `json:"id"`
	Kind string      `json:"kind"`
	Path string      `json:"path"`
}

type letters struct {
	Letters []letter `json:"dead_letters"`
}

// letters gives the dead letters of the database: the open ones, or all.
func (s *saga) letters(t *testing.T, args ...string) []letter {
	t.Helper()
	_, out := do[letters](t, s.db, append([]string{"dead", "list"}, args...)...)
	return out.Letters
}

// balance gives what the ledger of each service adds up to, and fails the test if an order has more in it than one entry and its
// undoing, each time it was tried.
func (s *saga) balance(t *testing.T, times int) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for service, address := range s.address {
		text := ask(t, http.MethodGet, address+"/ledger")
		var entries []struct{ Amount int64 }
		if err := json.Unmarshal(text, &entries); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if len(entries) > 2*times {
			t.Errorf("%s has too many entries for one order: %s", service, text)
		}
		for _, e := range entries {
			sums[service] += e.Amount
		}
		if len(entries) == 0 {
			sums[service] = 0
		}
	}
	return sums
}

func ask(t *testing.T, method, address string) []byte {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v, %s: %s", method, address, err, resp.Status, text)
	}
	return text
}

// undone gives what the journal of the newest run says was undone, in its order.
func undone(t *testing.T, db string) (paths []string) {
	t.Helper()
	_, journal := do[struct {
		Entries []struct {
			Kind string `json:"kind"`
			Path string `json:"path"`
		} `json:"entries"`
	}](t, db, "journal", "@last")
	for _, e := range journal.Entries {
		if step, undo := strings.CutSuffix(e.Path, "~undo"); undo && e.Kind == "task_succeeded" {
			paths = append(paths, step)
		}
	}
	return paths
}

var nothingLeft = map[string]int64{"stock": 0, "payments": 0, "shipping": 0}

// X1, X3, X4: whoever refuses, what was done is undone, newest first, the step that failed before all, and the books balance.
func TestTheLedgersBalanceWhoeverRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failAt, status, code string
		undone               []string
		left                 map[string]int64
	}{
		{failAt: "nothing", status: "succeeded", left: map[string]int64{"stock": 3, "payments": 5100, "shipping": 1}},
		{failAt: "reserve", status: "failed", code: "sold_out", undone: []string{"reserve"}, left: nothingLeft},
		{failAt: "charge", status: "failed", code: "declined", undone: []string{"charge", "reserve"}, left: nothingLeft},
		{failAt: "ship", status: "failed", code: "no_carrier", undone: []string{"ship", "charge", "reserve"}, left: nothingLeft},
		{failAt: "answer", status: "failed", code: "connect", undone: []string{"ship", "charge", "reserve"}, left: nothingLeft},
	} {
		t.Run(c.failAt, func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			exit, e := s.order(t, c.failAt)
			if e.Status != c.status || exit == 0 != (c.status == "succeeded") || c.code != "" && (e.Error == nil || e.Error.Code != c.code) {
				t.Errorf("ended %s with %+v, status %d; not %s with %s", e.Status, e.Error, exit, c.status, c.code)
			}
			if diff := cmp.Diff(c.undone, undone(t, s.db)); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.left, s.balance(t, 1)); diff != "" {
				t.Errorf("ledgers (-want +got):\n%s", diff)
			}
			if all := s.letters(t, "--all"); len(all) > 0 {
				t.Errorf("letters: %+v", all)
			}
		})
	}
}

// X6: a compensation that gives up leaves a letter and a dead run; once a person has mended the cause and redriven it, the rest of
// the plan follows, the run has failed, and the books balance.
func TestARefundThatIsRefusedWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	if exit, e := s.order(t, "refund"); exit != 1 || e.Status != "dead" {
		t.Fatalf("ended %s with %+v, status %d", e.Status, e.Error, exit)
	}
	open := s.letters(t)
	if len(open) != 1 || open[0].Kind != "compensation" || open[0].Path != "charge~undo" {
		t.Fatalf("letters: %+v", open)
	}
	if diff := cmp.Diff(map[string]int64{"stock": 3, "payments": 5100, "shipping": 0}, s.balance(t, 1)); diff != "" {
		t.Errorf("ledgers of the dead run (-want +got):\n%s", diff)
	}
	ask(t, http.MethodPost, s.address["payments"]+"/settle")
	if exit, out := do[json.RawMessage](t, s.db, "dead", "redrive", open[0].ID.String()); exit != 0 {
		t.Fatalf("the redrive ended with status %d: %s", exit, out)
	}
	if exit, e := do[ended](t, s.db, "resume", "@last"); exit != 1 || e.Status != "failed" || e.Error == nil || e.Error.Code != "no_carrier" {
		t.Errorf("ended %s with %+v, status %d", e.Status, e.Error, exit)
	}
	if diff := cmp.Diff([]string{"ship", "charge", "reserve"}, undone(t, s.db)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(nothingLeft, s.balance(t, 1)); diff != "" {
		t.Errorf("ledgers (-want +got):\n%s", diff)
	}
	if open := s.letters(t); len(open) > 0 {
		t.Errorf("letters that are still open: %+v", open)
	}
}

// X10: an order that is tried again is another to the services: its requests have keys of their own, and so has their undoing.
func TestAnOrderThatIsTriedAgainIsUndoneAgain(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	s.order(t, "ship")
	if exit, out := do[json.RawMessage](t, s.db, "retry", "@last", "--yes"); exit != 0 {
		t.Fatalf("the retry ended with status %d: %s", exit, out)
	}
	if exit, e := do[ended](t, s.db, "resume", "@last"); exit != 1 || e.Status != "failed" || e.Error == nil || e.Error.Code != "no_carrier" {
		t.Errorf("ended %s with %+v, status %d", e.Status, e.Error, exit)
	}
	if diff := cmp.Diff([]string{"ship", "charge", "reserve", "ship#2", "charge#2", "reserve#2"}, undone(t, s.db)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(nothingLeft, s.balance(t, 2)); diff != "" {
		t.Errorf("ledgers (-want +got):\n%s", diff)
	}
}

// The process is killed when the n-th request of the order has been done and before its answer has come: nobody knows whether it
// was. Another goes on, and each service has done what it was asked once.
func TestTheLedgersBalanceWhereverTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	for n, request := range []string{"reserve", "charge", "ship", "undo ship", "undo charge", "undo reserve"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			behind := s.between(t, int64(n+1))
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"run", "order-saga/order.yaml", "-i", "fail_at=ship", "--db", "sqlite:" + s.db}, s.vars...)...)
			behind.kill = func() error { return cmd.Process.Kill() }
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(behind.started) // what kill reads is there now
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("was not killed: %v", cmd.ProcessState)
			}
			if exit, e := do[ended](t, s.db, "resume"); exit != 1 || e.Status != "failed" || e.Error == nil || e.Error.Code != "no_carrier" {
				t.Errorf("ended %s with %+v, status %d", e.Status, e.Error, exit)
			}
			if diff := cmp.Diff([]string{"ship", "charge", "reserve"}, undone(t, s.db)); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(nothingLeft, s.balance(t, 1)); diff != "" {
				t.Errorf("ledgers (-want +got):\n%s", diff)
			}
		})
	}
}

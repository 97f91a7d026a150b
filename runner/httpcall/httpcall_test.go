package httpcall

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http reports there what servers say unasked
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what should come at once.
const patience = 2 * time.Minute

// canary stands where secrets would; no message and no log may show it.
const canary = "hunter2"

// caller gives a caller for servers that live in the system's time: it waits for them as long as the test does. What it gives up on,
// and when, is tested in a bubble of time.
func caller(t *testing.T, cfg Config) *Caller {
	t.Helper()
	cfg.ConnectTimeout = orDefault(cfg.ConnectTimeout, patience)
	c := New(cfg)
	c.asideTime, c.transport.ExpectContinueTimeout = patience, patience
	t.Cleanup(c.Close)
	return c
}

// call makes a call with a caller of its own and checks what holds for every result.
func call(t *testing.T, cfg Config, c Call) Result {
	t.Helper()
	return do(t, caller(t, cfg), c)
}

func do(t *testing.T, made *Caller, c Call) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := made.Do(ctx, c)
	wantSound(t, r)
	return r
}

// wantSound checks what holds for every result.
func wantSound(t *testing.T, r Result) {
	t.Helper()
	texts := map[string]string{"log": string(r.Log), "output": string(r.Output)}
	if r.Failure == nil {
		if !json.Valid(r.Output) {
			t.Errorf("output %.200q is not JSON", r.Output)
		}
	} else {
		texts["message"] = r.Failure.Message
		if r.Output != nil || r.Failure.Code == "" || r.Failure.Message == "" || len(r.Failure.Message) > 4<<10 {
			t.Errorf("output %.200q beside failure %+v", r.Output, r.Failure)
		}
		if r.Failure.Data != nil && !json.Valid(r.Failure.Data) {
			t.Errorf("data %.200q is not JSON", r.Failure.Data)
		}
		if f := r.Failure; f.Passing && (f.Permanent || f.Final) {
			t.Errorf("passing and yet %+v", f)
		}
	}
	for name, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("%s %.200q cannot be stored", name, text)
		}
		if name != "output" && strings.Contains(text, canary) {
			t.Errorf("%s shows a secret: %.1000s", name, text)
		}
	}
}

func wantOutput(t *testing.T, r Result, want string) {
	t.Helper()
	if r.Failure != nil {
		t.Fatalf("failed: %s: %s", r.Failure.Code, r.Failure.Message)
	}
	if string(r.Output) != want {
		t.Fatalf("output %.300s, want %.300s", r.Output, want)
	}
}

// wantFailure fails the test unless the attempt failed with this code and a message that says all of words.
func wantFailure(t *testing.T, r Result, code string, words ...string) *Failure {
	t.Helper()
	if r.Failure == nil {
		t.Fatalf("succeeded with %.200s, want failure %s", r.Output, code)
	}
	if r.Failure.Code != code {
		t.Fatalf("code %s, want %s (%s)", r.Failure.Code, code, r.Failure.Message)
	}
	for _, w := range words {
		if !strings.Contains(r.Failure.Message, w) {
			t.Errorf("message %q does not say %q", r.Failure.Message, w)
		}
	}
	return r.Failure
}

// wantKind compares how a failure is to be treated.
func wantKind(t *testing.T, f *Failure, kind string) {
	t.Helper()
	got := map[string]bool{"passing": f.Passing, "permanent": f.Permanent, "final": f.Final}
	want := map[string]bool{"passing": false, "permanent": false, "final": false}
	if kind != "" {
		want[kind] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is to be treated otherwise:\n%s", f.Code, diff)
	}
}

// seen is a request as a server saw it.
type seen struct {
	Line   string // method and target
	Header http.Header
	Body   string
}

// recorder is a server that remembers what it was asked.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

func record(t *testing.T, handle http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(r.handler(handle))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) handler(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		header := req.Header.Clone()
		header.Set("Host", req.Host)
		r.mu.Lock()
		r.seen = append(r.seen, seen{Line: req.Method + " " + req.RequestURI, Header: header, Body: string(body)})
		r.mu.Unlock()
		handle(w, req)
	}
}

func (r *recorder) requests() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// quiet is the log of servers whose clients break off, as they are meant to.
var quiet = log.New(io.Discard, "", 0)

func newReader(conn net.Conn) *bufio.Reader { return bufio.NewReader(conn) }

func nothing(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// session is one connection of a server that speaks bytes.
type session struct {
	net.Conn
	number int // of the connection, from 1
	reader *bufio.Reader
}

// hears reads one request whole, and says whether one came.
func (s *session) hears() bool {
	req, err := http.ReadRequest(s.reader)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// says sends text and says whether it could.
func (s *session) says(text string) bool {
	_, err := io.WriteString(s.Conn, text)
	return err == nil
}

// bytesServer serves each connection by a function, which ends with it, and gives its address.
func bytesServer(t *testing.T, serve func(s *session)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	closing := false
	serving.Go(func() {
		for number := 1; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			if closing {
				_ = conn.Close()
			}
			mu.Unlock()
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(&session{Conn: conn, number: number, reader: newReader(conn)})
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		closing = true
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// saying is a server that answers each request with the same bytes and then closes.
func saying(t *testing.T, text string) string {
	t.Helper()
	return bytesServer(t, func(s *session) {
		if s.hears() {
			s.says(text)
		}
	})
}

func TestEachAttemptLogsWhatItAskedAndWhatCame(t *testing.T) {
	t.Parallel()
	s := record(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new?token="+canary, http.StatusFound)
		case "/new":
			http.Error(w, "no such\x00 thing\xff", http.StatusNotFound)
		}
	})
	r := call(t, Config{}, Call{URL: s.URL + "/old?token=" + canary, Header: []Pair{{"Authorization", canary}}})
	want := "GET " + s.URL + "/old: 302 Found\nGET " + s.URL + "/new: 404 Not Found\nno such\uFFFD thing\uFFFD\n"
	if diff := cmp.Diff(want, string(r.Log)); diff != "" {
		t.Error(diff)
	}
	if r.Status != 404 {
		t.Errorf("status %d", r.Status)
	}
}

func TestCallsAtTheSameTimeKeepTheirAnswersApart(t *testing.T) {
	t.Parallel()
	s := record(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Query().Get("n")) })
	made := caller(t, Config{})
	var calling sync.WaitGroup
	for i := range 50 {
		calling.Go(func() {
			n := string(rune('A' + i))
			for range 4 {
				r := do(t, made, Call{URL: s.URL, Query: []Pair{{"n", n}}})
				if want, _ := json.Marshal(n); string(r.Output) != string(want) {
					t.Errorf("%s, want %s", r.Output, want)
				}
			}
		})
	}
	calling.Wait()
}

func TestProxiesAreThoseOfTheConfigurationAlone(t *testing.T) {
	proxy := record(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "by proxy") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	s := record(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "directly") })
	elsewhere := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, s.Listener.Addr().String())
	}
	wantOutput(t, call(t, Config{Dial: elsewhere}, Call{URL: "http://payments.test/"}), `"directly"`)
	if n := len(proxy.requests()); n > 0 {
		t.Errorf("%d calls went to the proxy of the environment", n)
	}
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, call(t, Config{Proxy: at}, Call{URL: "http://payments.test/a"}), `"by proxy"`)
	if got := proxy.requests()[0].Line; got != "GET http://payments.test/a" {
		t.Errorf("the proxy was asked %q", got)
	}
}

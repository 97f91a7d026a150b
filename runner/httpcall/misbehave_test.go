package httpcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerThatMisbehavesIsAFailureInPlainWords(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	tests := map[string]struct {
		says string // what the server answers before it closes
		code string
		kind string
		want string
	}{
		"closes without a word":       {"", "connect", "passing", "the server closed the connection before it had answered"},
		"closes within the status":    {"HTTP/1.1 20", "connect", "passing", "did not answer in HTTP"},
		"closes within the headers":   {head, "connect", "passing", "the server closed the connection"},
		"speaks another language":     {"SSH-2.0-OpenSSH_9.9 " + canary + "\r\n", "connect", "passing", "did not answer in HTTP"},
		"speaks an old HTTP":          {"<html>" + canary + "</html>", "connect", "passing", "did not answer in HTTP"},
		"says no status":              {"HTTP/1.1 abc " + canary + "\r\n\r\n", "connect", "passing", "did not answer in HTTP"},
		"says a header without end":   {head + "no colon " + canary + "\r\n\r\n", "connect", "passing", "did not answer in HTTP"},
		"says a bad length":           {head + "Content-Length: -5\r\n\r\nhello", "connect", "passing", "did not answer in HTTP"},
		"says two lengths":            {head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "connect", "passing", ""},
		"says an unknown framing":     {head + "Transfer-Encoding: bogus\r\n\r\nhello", "connect", "passing", ""},
		"gives less than it said":     {head + "Content-Length: 50\r\n\r\nhello", "connect", "passing", "answered 200 OK, but the body ends before it should"},
		"gives half of the chunks":    {head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "connect", "passing", "the body ends before it should"},
		"gives half of a chunk":       {head + "Transfer-Encoding: chunked\r\n\r\n50\r\nhello", "connect", "passing", "the body ends before it should"},
		"gives a broken chunk":        {head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n", "connect", "passing", "not the whole of its body came"},
		"gives too long a chunk":      {head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello", "connect", "passing", "not the whole of its body came"},
		"gives chunks without end":    {head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n", "connect", "passing", "not the whole of its body came"},
		"switches the protocol":       {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello", "http_101", "", "answered 101 Switching Protocols"},
		"gives less, as a failure":    {"HTTP/1.1 503 Busy\r\nContent-Length: 50\r\n\r\nhello", "http_503", "passing", "answered 503 Service Unavailable"},
		"gives broken gzip, likewise": {"HTTP/1.1 404 No\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "http_404", "", "answered 404 Not Found"},
		"has a status of its own":     {"HTTP/1.1 999 " + canary + "\r\nContent-Length: 0\r\n\r\n", "http_999", "", "answered 999"},
		"asks before the answer":      {"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", "http_408", "passing", "answered 408"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := saying(t, test.says)
			r := call(t, Config{}, Call{URL: address + "/a?" + canary, Method: "POST", Key: "k"})
			wantKind(t, wantFailure(t, r, test.code, "POST "+address+"/a", test.want), test.kind)
		})
	}
}

func TestAServerThatIsOddIsUnderstood(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	tests := map[string]struct {
		says string
		want string
	}{
		"old HTTP, no length":           {"HTTP/1.0 200 OK\r\n\r\nhello", `"hello"`},
		"no length":                     {head + "\r\nhello", `"hello"`},
		"line ends without CR":          {"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", `"hello"`},
		"a length twice":                {head + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", `"hello"`},
		"more than it said":             {head + "Content-Length: 5\r\n\r\nhello, you", `"hello"`},
		"trailers":                      {head + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;x=y\r\nhello\r\n0\r\nX: 1\r\n\r\n", `"hello"`},
		"an answer after a hint":        {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head + "Content-Length: 5\r\n\r\nhello", `"hello"`},
		"going on, unasked":             {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + head + "Content-Length: 5\r\n\r\nhello", `"hello"`},
		"a body where none can be":      {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", `null`},
		"a body that was not asked for": {"HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", `"hello"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOutput(t, call(t, Config{}, Call{URL: saying(t, test.says)}), test.want)
		})
	}
}

// R8
func TestAnAnswerWithoutEndIsCutShort(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	tests := map[string]struct {
		begin, again string
		code, kind   string
	}{
		"body":                {head + "\r\n", strings.Repeat("a", 1000), "too_large", "final"},
		"body of a length":    {head + "Content-Length: 99999999999\r\n\r\n", strings.Repeat("a", 1000), "too_large", "final"},
		"chunks":              {head + "Transfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n", "too_large", "final"},
		"tiny chunks":         {head + "Transfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("x", 500) + "\r\na\r\n", "connect", "passing"},
		"headers":             {head, "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", "too_large", "final"},
		"one header":          {head + "X-A: ", strings.Repeat("a", 1000), "too_large", "final"},
		"status":              {"HTTP/1.1 200 ", strings.Repeat("a", 1000), "too_large", "final"},
		"interim answers":     {"", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "too_large", "final"},
		"trailers":            {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", "connect", "passing"},
		"body of a failure":   {"HTTP/1.1 400 No\r\n\r\n", strings.Repeat("a", 1000), "http_400", ""},
		"body of a redirect":  {"HTTP/1.1 302 No\r\nLocation: ?\r\n\r\n", strings.Repeat("a", 1000), "http_302", ""},
		"packed body":         {head + "Content-Encoding: gzip\r\n\r\n" + "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x00\xff\xff\x00\x00" + strings.Repeat("a", 0xffff), "too_large", "final"},
		"header of packed":    {head + "Content-Encoding: gzip\r\n\r\n" + "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff", strings.Repeat("a", 1000), "bad_output", ""},
		"packed nothing":      {head + "Content-Encoding: gzip\r\n\r\n", packed(t, ""), "too_large", "final"},
		"packed and expanded": {head + "Content-Encoding: gzip\r\n\r\n", packed(t, strings.Repeat("a", 1<<20)), "too_large", "final"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := bytesServer(t, func(s *session) {
				for going := s.hears() && s.says(test.begin); going; {
					going = s.says(test.again)
				}
			})
			r := call(t, Config{Limits: Limits{OutputBytes: 100 << 10}}, Call{URL: address + "/a?" + canary})
			wantKind(t, wantFailure(t, r, test.code), test.kind)
		})
	}
}

func TestACallThatIsStoppedEndsAtOnce(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	tests := map[string]struct {
		says    string // before the server falls silent
		code    string
		stopped bool
	}{
		"before the answer":       {"", "connect", true},
		"within the headers":      {head + "X-A", "connect", true},
		"within the body":         {head + "Content-Length: 50\r\n\r\nhello", "connect", true},
		"within a packed body":    {head + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08", "connect", true},
		"within a failure's body": {"HTTP/1.1 500 No\r\nContent-Length: 50\r\n\r\nhello", "http_500", false},
		"within a redirect":       {"HTTP/1.1 302 No\r\nLocation: /b\r\nContent-Length: 50\r\n\r\nhello", "connect", true},
		"waiting for leave":       {"HTTP/1.1 103 Early Hints\r\n\r\n", "connect", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var serving sync.WaitGroup
				defer serving.Wait()
				made := New(memory(&serving, func(s *session) {
					if s.hears() && s.says(test.says) {
						s.hears() // until the connection closes
					}
				}))
				defer made.Close()
				ctx, cancel := context.WithCancelCause(t.Context())
				got := make(chan Result, 1)
				go func() { got <- made.Do(ctx, Call{URL: "http://a.test/?" + canary}) }()
				synctest.Wait()
				begun := time.Now()
				cancel(errors.New("enough"))
				r := <-got
				wantSound(t, r)
				wantFailure(t, r, test.code)
				if r.Stopped != test.stopped || time.Since(begun) > 0 {
					t.Errorf("stopped: %v, after %v", r.Stopped, time.Since(begun))
				}
			})
		})
	}
}

// memory serves connections that lie in memory, so that time in the test's bubble is the test's. The test waits for serving
// after it has closed what it opened.
func memory(serving *sync.WaitGroup, serve func(s *session)) Config {
	var number atomic.Int32
	return Config{Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		mine := int(number.Add(1))
		serving.Go(func() {
			defer func() { _ = far.Close() }()
			serve(&session{Conn: far, number: mine, reader: newReader(far)})
		})
		return near, nil
	}}
}

func TestTheBodyOfAFailureIsWaitedForOnlySoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var serving sync.WaitGroup
		defer serving.Wait()
		made := New(memory(&serving, func(s *session) {
			if s.hears() && s.says("HTTP/1.1 503 No\r\nContent-Length: 50\r\n\r\nhello") {
				s.hears()
			}
		}))
		defer made.Close()
		begun := time.Now()
		r := made.Do(t.Context(), Call{URL: "http://a.test/"})
		f := wantFailure(t, r, "http_503")
		if string(f.Data) != `{"status":503,"body":"hello"}` || r.Stopped {
			t.Errorf("data %s, stopped %v", f.Data, r.Stopped)
		}
		if took := time.Since(begun); took != asideTime {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAnAnswerMayTakeAsLongAsTheContextAllows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var serving sync.WaitGroup
		defer serving.Wait()
		made := New(memory(&serving, func(s *session) {
			if !s.hears() {
				return
			}
			for _, c := range "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" {
				<-time.After(time.Minute)
				if !s.says(string(c)) {
					return
				}
			}
			s.hears()
		}))
		defer made.Close()
		wantOutput(t, made.Do(t.Context(), Call{URL: "http://a.test/"}), `"hello"`)

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		made.Close()
		if r := made.Do(ctx, Call{URL: "http://a.test/"}); !r.Stopped {
			t.Errorf("%+v", r.Failure)
		}
	})
}

func TestAConnectionThatDoesNotComeAboutIsGivenUp(t *testing.T) {
	t.Parallel()
	tests := map[string]func(serving *sync.WaitGroup) Config{
		"the host is silent": func(*sync.WaitGroup) Config {
			return Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		},
		"TLS is silent": func(serving *sync.WaitGroup) Config {
			return memory(serving, func(s *session) { _, _ = io.Copy(io.Discard, s) })
		},
	}
	for name, configure := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var serving sync.WaitGroup
				defer serving.Wait()
				cfg := configure(&serving)
				begun := time.Now()
				cfg.ConnectTimeout = 7 * time.Second
				made := New(cfg)
				defer made.Close()
				r := made.Do(t.Context(), Call{URL: "https://a.test/?" + canary})
				wantSound(t, r)
				wantKind(t, wantFailure(t, r, "connect", "GET https://a.test/: the connection timed out"), "passing")
				if took := time.Since(begun); took != cfg.ConnectTimeout {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestAConnectionThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	tests := map[string]struct {
		err  error
		says string
	}{
		"no such host":   {op(&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}), "host a.test cannot be found: no such host"},
		"refused":        {op(syscall.ECONNREFUSED), "the connection was refused"},
		"reset":          {op(syscall.ECONNRESET), "the connection was reset"},
		"timed out":      {op(syscall.ETIMEDOUT), "the connection timed out"},
		"unreachable":    {op(syscall.EHOSTUNREACH), "no route to host"},
		"something else": {errors.New("odd\x00\xff " + strings.Repeat("x", 10000)), "odd\uFFFD\uFFFD xxx"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dial := func(context.Context, string, string) (net.Conn, error) { return nil, test.err }
			r := call(t, Config{Dial: dial}, Call{URL: "http://a.test/?" + canary})
			wantKind(t, wantFailure(t, r, "connect", "GET http://a.test/: ", test.says), "passing")
			if r.Status != 0 || r.Stopped || r.Failure.Data != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAPortWhereNobodyListensIsRefused(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1" // the system gives it to no program that asks for any port
	wantFailure(t, call(t, Config{}, Call{URL: nobody}), "connect", "refused: does the server run")
}

// A kept connection that the server closes when the next request comes: whether it has worked on it, nobody knows.
func TestARequestIsSentAgainOnlyWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		call  Call
		again bool
	}{
		"GET":                       {Call{}, true},
		"HEAD":                      {Call{Method: "HEAD"}, true},
		"POST":                      {Call{Method: "POST", Body: "x"}, false},
		"POST with a key":           {Call{Method: "POST", Body: "x", Key: "k"}, false},
		"POST with a key of its":    {Call{Method: "POST", Header: []Pair{{"X-Idempotency-Key", "k"}}}, false},
		"PUT":                       {Call{Method: "PUT", Body: "x"}, false},
		"DELETE with a key, and GO": {Call{Method: "DELETE", Key: "k"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var serving sync.WaitGroup
				defer serving.Wait()
				heard := 0 // one connection after the other is served
				made := New(memory(&serving, func(s *session) {
					for s.hears() {
						heard++
						if s.number == 1 && heard == 2 || !s.says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
							return
						}
					}
				}))
				defer made.Close()
				wantOutput(t, made.Do(t.Context(), Call{URL: "http://a.test"}), `null`)
				c := test.call
				c.URL = "http://a.test"
				r := made.Do(t.Context(), c)
				wantSound(t, r)
				if test.again {
					wantOutput(t, r, `null`)
				} else {
					wantKind(t, wantFailure(t, r, "connect", "closed the connection before it had answered"), "passing")
				}
				synctest.Wait()
				if want := map[bool]int{true: 3, false: 2}[test.again]; heard != want {
					t.Errorf("the server heard %d requests, want %d", heard, want)
				}
			})
		})
	}
}

// A server that says more than it announced must not have the rest taken for the answer to the next request.
func TestNoCallGetsTheRestOfAnothersAnswer(t *testing.T) {
	t.Parallel()
	const rest = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"
	tests := map[string]struct{ method, head, want string }{
		"after a body":             {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright", `"right"`},
		"after chunks":             {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nright\r\n0\r\n\r\n", `"right"`},
		"after none":               {"GET", "HTTP/1.1 204 No Content\r\n\r\n", `null`},
		"after a POST":             {"POST", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright", `"right"`},
		"after none with a length": {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n", `null`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := bytesServer(t, func(s *session) {
				for s.hears() && s.says(test.head+rest) {
				}
			})
			made := caller(t, Config{})
			for i := range 300 {
				r := do(t, made, Call{URL: address, Method: test.method})
				if r.Failure != nil || string(r.Output) != test.want {
					t.Fatalf("call %d: %s %+v", i, r.Output, r.Failure)
				}
			}
		})
	}
}

func FuzzAnyAnswerIsASoundResult(f *testing.F) {
	for _, says := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.0 500\r\n\r\n\xff\x00",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: //b?x y\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 No\r\nRetry-After: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\x78\x9c\x4b\x04\x00", "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
	} {
		f.Add([]byte(says), false)
		f.Add([]byte(says), true)
	}
	f.Fuzz(func(t *testing.T, says []byte, full bool) {
		var serving sync.WaitGroup
		defer serving.Wait()
		made := New(memory(&serving, func(s *session) {
			if s.hears() {
				s.says(string(says))
			}
		}))
		defer made.Close()
		wantSound(t, made.Do(t.Context(), Call{URL: "http://a.test/b?" + canary, Full: full}))
	})
}

func TestAKeptConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"after a body":        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"after nothing":       "HTTP/1.1 204 No Content\r\n\r\n",
		"after a failure":     "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello",
		"after a packed body": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + fmt.Sprint(len(packed(t, "hello"))) + "\r\n\r\n" + packed(t, "hello"),
	}
	for name, says := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // where no time passes that a slow machine needs to set a connection free
				var serving sync.WaitGroup
				defer serving.Wait()
				most := 0
				made := New(memory(&serving, func(s *session) {
					most = s.number
					for s.hears() && s.says(says) {
					}
				}))
				defer made.Close()
				for range 20 {
					wantSound(t, made.Do(t.Context(), Call{URL: "http://a.test"}))
				}
				synctest.Wait()
				if most != 1 {
					t.Errorf("%d connections", most)
				}
			})
		})
	}
}

func TestAServerThatStopsListeningMayStillAnswer(t *testing.T) {
	t.Parallel()
	address := bytesServer(t, func(s *session) {
		_ = s.SetReadDeadline(time.Now().Add(patience))
		one := make([]byte, 1)
		if _, err := s.Read(one); err != nil {
			return
		}
		s.says("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		_ = s.Conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, s.Conn)
	})
	r := call(t, Config{}, Call{URL: address, Body: strings.Repeat("a", 8<<20)})
	wantFailure(t, r, "http_413")
}

func TestABodyIsHeldBackUntilTheServerAsksForIt(t *testing.T) {
	t.Parallel()
	address := bytesServer(t, func(s *session) {
		req, err := http.ReadRequest(s.reader)
		if err != nil || s.reader.Buffered() > 0 || !s.says("HTTP/1.1 100 Continue\r\n\r\n") {
			return
		}
		var b bytes.Buffer
		_, _ = io.Copy(&b, req.Body)
		s.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + b.String())
	})
	r := call(t, Config{}, Call{URL: address, Body: "hello", Header: []Pair{{"Expect", "100-continue"}}})
	wantOutput(t, r, `"hello"`)
}

func TestAWaitForTheReaderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	w := &watched{Conn: near}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.settled(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.settled(t.Context())
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = w.Read(make([]byte, 1))
	}()
	<-done
	_ = far.Close()
	<-read
	_ = w.Close()
	w.settled(t.Context())
}

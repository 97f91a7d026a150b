// Package httpcall executes `http` steps: one call of [Caller.Do] is one attempt, from the first byte of the request to the
// last of the answer.
//
// Nouns: a [Call] is all that one attempt needs, already evaluated; a [Caller] makes calls and keeps connections between
// them; a [Result] is what became of one; a [Failure] says why it failed in terms that retry policies understand. An answer
// is what the server sent, an exchange a call with the redirects that it followed.
//
// The package imports runner/internal/plain alone. The rules are sections 2, 5 and 6 of the page on the file format.
package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Call is everything that one attempt needs, already evaluated. Do does not change it.
type Call struct {
	Method string // "": GET, or POST with a body; small letters will do
	URL    string // http or https, without user and password; what follows a # is not sent
	Query  []Pair // added to the URL's own
	Header []Pair // the same name may stand several times; wins over every header that Do would set itself

	// At most one of JSON, Form and Body is the body. Each sets Content-Type unless Header does.
	JSON json.RawMessage // nil: none
	Form []Pair          // nil: none
	Body string          // "": none

	Expect []Statuses     // what counts as success; nil: 200 to 299, but for those in Codes
	Codes  map[int]string // status -> code, instead of http_N
	Full   bool           // the output is { status, headers, body } instead of the body

	Key         string // sent as Idempotency-Key with every method but GET and HEAD; "": not sent
	Traceparent string // sent as traceparent; "": not sent
}

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// Statuses are the statuses From to To, both included.
type Statuses struct{ From, To int }

// Result is what became of an attempt.
type Result struct {
	Output  json.RawMessage // when Failure is nil: valid JSON, storable, within Limits.OutputBytes
	Failure *Failure        // nil: it succeeded
	// Log has a line for each request and what came of it, and after that the beginning of the body of an answer that is a
	// failure: valid UTF-8 without NUL, no query and no header of a request.
	Log []byte
	// Status is that of the last answer; 0 when none came.
	Status int
	// Stopped says that the context ended before the exchange did. Why is context.Cause. The server may have done its work.
	Stopped bool
}

// Config is how a Caller works. The zero value is usable.
type Config struct {
	UserAgent    string            // default "millrace"
	Roots        *x509.CertPool    // who may vouch for a server; nil: those of the system
	Certificates []tls.Certificate // shown to servers that ask for one; nil: none
	// Proxy is what every connection goes through; nil: none, whatever the environment says.
	Proxy *url.URL
	// Dial opens connections; nil: a net.Dialer. It owes a connection or an error soon after its context has ended.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds the opening of a connection, and again its TLS handshake; default 10 s. How long an answer may
	// take is bounded by the context of Do alone.
	ConnectTimeout time.Duration
	Now            func() time.Time // what a Retry-After without a Date is counted from; nil: the system's clock
	Limits         Limits
}

// Limits bounds what is taken of an answer. Zero fields mean the defaults.
type Limits struct {
	OutputBytes int // size of the output as JSON, and of a body, unpacked; default 1 MiB
	HeaderBytes int // size of the headers of an answer, those of interim answers included; default 64 KiB
	Redirects   int // default 10; less than 0: none is followed
}

const (
	defaultUserAgent      = "millrace"
	defaultConnectTimeout = 10 * time.Second
	defaultOutput         = 1 << 20
	defaultHeader         = 64 << 10
	defaultRedirects      = 10

	idleConnections        = 100
	idleConnectionsPerHost = 16
	idleTime               = 30 * time.Second // shorter than most servers', which close without warning
	aliveInterval          = 15 * time.Second // between questions whether a silent peer is still there
	continueTime           = time.Second      // for a server that was asked before the body is sent
)

// Caller makes calls. It is safe for concurrent use. Who made it owes a Close.
type Caller struct {
	userAgent string
	limits    Limits
	now       func() time.Time
	transport *http.Transport
	asideTime time.Duration // how long the body of an answer is waited for that is not the output
}

// New gives a Caller. It starts nothing.
func New(cfg Config) *Caller {
	timeout := orDefault(cfg.ConnectTimeout, defaultConnectTimeout)
	c := &Caller{userAgent: cfg.UserAgent, limits: cfg.Limits.withDefaults(), now: cfg.Now, asideTime: asideTime}
	if c.userAgent == "" {
		c.userAgent = defaultUserAgent
	}
	if c.now == nil {
		c.now = time.Now //nolint:forbidigo // dates of servers are compared with the system's time, whatever the engine's clock
	}
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: aliveInterval}).DialContext
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	c.transport = &http.Transport{
		DialContext:            watchedDial(dial, timeout),
		TLSClientConfig:        &tls.Config{RootCAs: cfg.Roots, Certificates: cfg.Certificates, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    timeout,
		DisableCompression:     true, // packed bodies are unpacked here, within the limit
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnectionsPerHost,
		IdleConnTimeout:        idleTime,
		ExpectContinueTimeout:  continueTime,
		MaxResponseHeaderBytes: int64(c.limits.HeaderBytes),
		Protocols:              &protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: aliveInterval, PingTimeout: aliveInterval},
	}
	if cfg.Proxy != nil {
		c.transport.Proxy = http.ProxyURL(cfg.Proxy)
	}
	return c
}

// Close closes the connections that no call uses. Calls under way go on.
func (c *Caller) Close() { c.transport.CloseIdleConnections() }

// Do executes one attempt and blocks until the exchange is over or ctx has ended. It always gives a Result with an Output or
// a Failure, and leaves no goroutine behind but those of connections kept for later calls.
//
// A request is sent once. Only where the server cannot have begun to work on it, or the method is GET, HEAD, OPTIONS or
// TRACE, is it sent again when a kept connection turns out to be closed; all else is left to the step's retry policy.
//
// Redirects are followed for GET and HEAD, and with 307 and 308 for every method, body and key included; never from https to
// http, nor to another protocol, nor when Call.Expect names their status. When one leads to another host, only headers that
// say nothing of the caller go along.
func (c *Caller) Do(ctx context.Context, call Call) Result {
	x := &exchange{caller: c, call: call}
	return x.run(ctx)
}

func (l Limits) withDefaults() Limits {
	l.OutputBytes = orDefault(l.OutputBytes, defaultOutput)
	l.HeaderBytes = orDefault(l.HeaderBytes, defaultHeader)
	if l.Redirects == 0 {
		l.Redirects = defaultRedirects
	}
	return l
}

func orDefault[T int | time.Duration](value, def T) T {
	if value <= 0 {
		return def
	}
	return value
}

package httpcall

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// watched is a connection that knows whether somebody waits in Read.
//
// It keeps one call from getting the rest of another's answer. A server that sends more than it announced (a body with 204, a
// wrong Content-Length) leaves bytes on a kept connection; net/http drops such a connection when it finds them, but a
// request that takes the connection before it looks would be given them as its answer. Its reader looks at what it has before
// it waits for more: once it waits in Read, nothing was left.
type watched struct {
	net.Conn

	mu      sync.Mutex
	reading bool
	closed  bool
	changed chan struct{} // closed at the next change; nil: nobody waits for one
}

// Read reads, and is seen to.
func (w *watched) Read(p []byte) (int, error) {
	w.set(&w.reading, true)
	defer w.set(&w.reading, false)
	return w.Conn.Read(p)
}

// Close closes the connection; whoever waits for a reader waits no longer.
func (w *watched) Close() error {
	w.set(&w.closed, true)
	return w.Conn.Close()
}

func (w *watched) set(flag *bool, value bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*flag = value
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// settled blocks until the reader has taken all that was left on the connection, or closed it for that, or ctx has ended.
func (w *watched) settled(ctx context.Context) {
	for {
		w.mu.Lock()
		if w.reading || w.closed {
			w.mu.Unlock()
			return
		}
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// watchedDial gives dial with watched connections and a bound.
func watchedDial(dial func(ctx context.Context, network, address string) (net.Conn, error), timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: conn}, nil
	}
}

// settleFirst gives a context in which a kept connection is used only when nothing is left on it. On HTTP/2 answers have
// numbers, and nothing can be mistaken.
func settleFirst(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			return
		}
		conn := got.Conn
		for {
			switch c := conn.(type) {
			case *watched:
				c.settled(ctx)
				return
			case *tls.Conn:
				if c.ConnectionState().NegotiatedProtocol == "h2" {
					return
				}
				conn = c.NetConn()
			default:
				return
			}
		}
	}})
}

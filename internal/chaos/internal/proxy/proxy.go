// Package proxy stands before a server and does to its connections what networks do: it cuts them, delays them, closes one
// half of them, and swallows everything for a while.
//
// Nouns: a [Proxy] listens and forwards to one server; a link is one connection through it, of two halves; a half carries
// bytes one way. Bytes are held back, never lost or changed: what arrives is what was sent, up to a point.
//
// It imports nothing of this module.
package proxy

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to one server. It is safe for concurrent use.
type Proxy struct {
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	links  map[*link]bool
	open   chan struct{} // closed while bytes may pass
	delay  time.Duration
	closed bool
}

// link is one connection through the proxy.
type link struct{ client, server *net.TCPConn }

// Listen gives a proxy before the server at target, on a port of its own; seed draws which links a fault befalls. The caller
// closes it.
func Listen(ctx context.Context, target string, seed uint64) (*Proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		target: target, listener: l, links: map[*link]bool{}, open: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0x70726f7879)), //nolint:gosec // drawn again from the seed
	}
	close(p.open)
	p.work.Go(p.accept)
	return p, nil
}

// Address is host and port on which the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Close cuts all links, and waits until nothing of the proxy runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Restore()
	p.Cut(1)
	p.work.Wait()
	return err
}

// Cut ends links, each with probability share, as a machine that resets them does. It gives their number.
func (p *Proxy) Cut(share float64) int {
	return p.befall(share, func(l *link) {
		_ = l.client.SetLinger(0) // both are closed in any case
		_ = l.server.SetLinger(0)
		l.close()
	})
}

// HalfClose ends one half of links, each with probability share: either the server or the client believes that the other has
// no more to say, and the other half goes on. It gives their number.
func (p *Proxy) HalfClose(share float64) int {
	return p.befall(share, func(l *link) {
		if p.random.IntN(2) == 0 {
			_ = l.client.CloseWrite() // one that is closed already is no mistake
		} else {
			_ = l.server.CloseWrite()
		}
	})
}

func (p *Proxy) befall(share float64, fault func(l *link)) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if p.random.Float64() < share {
			fault(l)
			n++
		}
	}
	return n
}

// Delay has everything that passes from now on wait for d, each way; 0: not at all.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Swallow lets nothing pass until Restore: connections are accepted, and nobody answers.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Restore ends Swallow and Delay: what was held back is delivered, if its link is still there.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = 0
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // it was closed
		}
		p.work.Go(func() { p.serve(c) })
	}
}

// serve forwards one connection until one of its ends is gone.
func (p *Proxy) serve(c net.Conn) {
	s, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		_ = c.Close() // the client hears what it would hear from a server that is gone
		return
	}
	l := &link{}
	var isTCP [2]bool
	l.client, isTCP[0] = c.(*net.TCPConn)
	l.server, isTCP[1] = s.(*net.TCPConn)
	if !isTCP[0] || !isTCP[1] || !p.enter(l) {
		_ = errors.Join(c.Close(), s.Close())
		return
	}
	var halves sync.WaitGroup
	halves.Go(func() { p.pump(l.server, l.client) })
	halves.Go(func() { p.pump(l.client, l.server) })
	halves.Wait()
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

const dialTimeout = 5 * time.Second

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.links[l] = true
	return true
}

func (l *link) close() {
	_ = l.client.Close() // one that is closed already is no mistake
	_ = l.server.Close()
}

// pump carries bytes one way. The end of what one side says is told to the other; a fault ends both halves.
func (p *Proxy) pump(to, from *net.TCPConn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			p.wait()
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.CloseRead()
				_ = to.Close()
				return
			}
		}
		if err != nil {
			p.wait()
			_ = to.CloseWrite()
			return
		}
	}
}

// wait holds back what is about to pass.
func (p *Proxy) wait() {
	p.mu.Lock()
	open, delay := p.open, p.delay
	p.mu.Unlock()
	<-open
	if delay > 0 {
		t := time.NewTimer(delay)
		<-t.C
	}
}

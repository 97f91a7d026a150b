package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/chaos/internal/proxy"
)

// TestMain finds goroutines that outlive the tests. Those that are about to end have the time that a busy machine takes: each
// look lasts half a second.
func TestMain(m *testing.M) {
	status := m.Run()
	left := errors.New("not looked at")
	for n := 0; left != nil && n < 100; n++ {
		left = goleak.Find()
	}
	if status == 0 && left != nil {
		fmt.Fprintln(os.Stderr, left)
		status = 1
	}
	os.Exit(status)
}

// echo is a server that says again what it is told, line by line.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *proxy.Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &client{c, bufio.NewReader(c)}
}

func (c *client) ask(within time.Duration) error {
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return err
	}
	return c.hear(within)
}

func (c *client) hear(within time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	line, err := c.in.ReadString('\n')
	if err == nil && line != "hello\n" {
		return errors.New("another answer")
	}
	return err
}

func listen(t *testing.T) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Listen(t.Context(), echo(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

const long = time.Minute

func TestWithoutAFaultEverythingPasses(t *testing.T) {
	t.Parallel()
	c := dial(t, listen(t))
	for range 3 {
		if err := c.ask(long); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACutEndsTheConnectionAndNoOther(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	if err := c.ask(long); err != nil {
		t.Fatal(err)
	}
	if n := p.Cut(1); n != 1 {
		t.Errorf("%d links were cut, want 1", n)
	}
	if err := c.hear(long); err == nil {
		t.Error("a link that was cut still answers")
	}
	if err := dial(t, p).ask(long); err != nil {
		t.Errorf("a new link after a cut: %v", err)
	}
}

func TestWhatIsSwallowedIsDeliveredAfterwards(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	if err := c.ask(long); err != nil {
		t.Fatal(err)
	}
	p.Swallow()
	var network net.Error
	if err := c.ask(50 * time.Millisecond); !errors.As(err, &network) || !network.Timeout() {
		t.Errorf("while all is swallowed: %v, want no answer", err)
	}
	p.Restore()
	if err := c.hear(long); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestADelayHoldsBackEachWay(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	p.Delay(30 * time.Millisecond)
	begun := time.Now()
	if err := c.ask(long); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d < 60*time.Millisecond {
		t.Errorf("the answer came after %v, want 60 ms or more", d)
	}
}

func TestAHalfThatIsClosedEndsTheConversation(t *testing.T) {
	t.Parallel()
	p := listen(t)
	for range 8 { // either half, as it is drawn
		c := dial(t, p)
		if err := c.ask(long); err != nil {
			t.Fatal(err)
		}
		if n := p.HalfClose(1); n == 0 {
			t.Error("no link was there")
		}
		if err := c.ask(long); err == nil {
			t.Error("a link of which one half is closed still answers")
		}
		p.Cut(1)
	}
}

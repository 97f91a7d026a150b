package postgres

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store"
)

// cutting is a server without TLS that hangs up on whoever wants to begin a session: as one does that is being stopped.
func cutting(t *testing.T) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			question := make([]byte, 8) // length and code, or the beginning of a session
			if n, _ := conn.Read(question); n == len(question) && question[4] == 4 && question[5] == 210 {
				_, _ = conn.Write([]byte("N"))
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// What a server without TLS is said to lack is what the URL insists on, and not what the driver tried first.
func TestAServerThatHangsUpIsNotOneWithoutTLS(t *testing.T) {
	t.Parallel()
	address := cutting(t)
	for settings, kind := range map[string]error{
		"": store.ErrUnavailable, "?sslmode=prefer": store.ErrUnavailable, "?sslmode=allow": store.ErrUnavailable,
		"?sslmode=disable": store.ErrUnavailable, "?sslmode=require": store.ErrUnusable,
	} {
		s, err := Open(t.Context(), "postgres://someone@"+address+"/x"+settings, Options{})
		switch {
		case err == nil:
			t.Error(errors.Join(errors.New("it was opened"), s.Close()))
		case !errors.Is(err, kind):
			t.Errorf("%q: got %v, want %v", settings, err, kind)
		}
	}
}

// A place for hints that takes connections and says nothing is told of, like one that refuses: it is not the server that is slow.
func TestAListenerThatGetsNoAnswerIsToldOf(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	told := make(chan error, 1)
	s := open(t, c.URL(c.Copy(t, "plain", migrated)), Options{
		MaxConns: 2, Deaf: func(err error) { told <- err },
		ListenURL: "postgres://someone@" + l.Addr().String() + "/x?sslmode=disable&connect_timeout=1",
	})
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(ctx, func(store.Hint) {}) }()
	select {
	case err := <-told:
		if err == nil {
			t.Error("it was told without a reason")
		}
	case <-time.After(time.Minute):
		t.Error("nobody was told")
	}
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
}

package postgres

import (
	"errors"
	"net"
	"testing"

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

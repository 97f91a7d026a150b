package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace-go/millrace/store"
)

// watch gives a channel of hints, once the watcher is in place.
func watch(t *testing.T, s *Store) <-chan struct{} {
	t.Helper()
	woken := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Watch(ctx, func(store.Hint) {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, errClosed) {
			t.Error(err)
		}
	})
	for {
		s.hints.mu.Lock()
		n := len(s.hints.watchers)
		s.hints.mu.Unlock()
		s.hints.pollMu.Lock()
		ready := s.hints.c != nil
		s.hints.pollMu.Unlock()
		if n > 0 && ready {
			return woken
		}
	}
}

func TestACommitOfThisHandleOrAnotherWakesWatchers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s, other := open(t, path, Options{}), open(t, path, Options{})
	woken := watch(t, s)
	startRuns(t, s, 1)
	<-woken
	startRuns(t, other, 1)
	<-woken
}

func TestWatchersOfAHandleShareOneQuery(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "millrace.db"), Options{})
	first, err := s.hints.poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.hints.asked = time.Now().Add(time.Hour) // a moment ago, however slow this machine is
	startRuns(t, s, 1)
	if again, err := s.hints.poll(t.Context()); err != nil || again != first {
		t.Errorf("a second watcher asked again: %d after %d, %v", again, first, err)
	}
}

func TestCloseEndsWatchers(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "millrace.db"), Options{})
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(t.Context(), func(store.Hint) {}) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, <-ended, store.ErrUnusable, "open it again")
}

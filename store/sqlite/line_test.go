package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// waitTogether has calls wait for the writer until all stand in the line, lets them go, and gives their errors.
func waitTogether(t *testing.T, s *Store, calls []func() error) []error {
	t.Helper()
	c := <-s.writer
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { errs[i] = call() })
		for s.line.length() <= i {
			runtime.Gosched()
		}
	}
	s.writer <- c
	all.Wait()
	return errs
}

func (l *line) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func note(c *conn, name string) error {
	_, err := c.Exec("insert into meta values (?, 1)", name)
	return err
}

func noted(t *testing.T, s *Store) (names []string) {
	t.Helper()
	err := s.read(t.Context(), "test", func(c *conn) error {
		return c.Each("select name from meta where name <> 'lanes' order by name", func(r *row) error {
			names = append(names, r.ColumnText(0))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCallsThatWaitTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "line.db"), Options{})
	var seen []int // rows that each call found when its turn came
	write := func(name string) func() error {
		return func() error {
			return s.write(t.Context(), "test", func(c *conn) error {
				n := 0
				_, err := c.One("select count(*) from meta where name <> 'lanes'", func(r *row) error {
					n = r.ColumnInt(0)
					return nil
				})
				if seen = append(seen, n); err != nil {
					return err
				}
				return note(c, name)
			})
		}
	}
	for _, err := range waitTogether(t, s, []func() error{write("a"), write("b"), write("c")}) {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2}, seen); diff != "" {
		t.Errorf("in the order in which they came, each once (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, noted(t, s)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Q3
func TestACallThatAsksForLittleGoesBeforeThoseThatAskForMuchEveryOtherTime(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "line.db"), Options{})
	var seen []string
	write := func(name string, size int) func() error {
		return func() error {
			return s.writeMany(t.Context(), "test", size, func(*conn) error {
				seen = append(seen, name)
				return nil
			})
		}
	}
	wait := func(calls ...func() error) {
		t.Helper()
		for _, err := range waitTogether(t, s, calls) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	wait(write("much", 15), write("little", 1)) // not worth a commit
	wait(write("more", 16), write("a", 4), write("most", 300), write("b", 1))
	wait(write("again", 16), write("c", 1))
	want := []string{"much", "little", "a", "b", "more", "most", "c", "again"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	s.line.passed = true
	seen = nil
	wait(write("last", 16), write("d", 1))
	if diff := cmp.Diff([]string{"last", "d"}, seen); diff != "" {
		t.Errorf("what asks for much was passed over twice: %s", diff)
	}
}

func TestACallThatFailsHarmsNoneThatWaitsWithIt(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "line.db"), Options{})
	bad := errors.New("no")
	gone, leave := context.WithCancel(t.Context())
	write := func(ctx context.Context, name string, fail error) func() error {
		return func() error {
			return s.write(ctx, "test", func(c *conn) error { return errors.Join(note(c, name), fail) })
		}
	}
	errs := waitTogether(t, s, []func() error{
		write(t.Context(), "a", nil),
		write(t.Context(), "b", bad),
		func() error {
			return s.write(gone, "test", func(*conn) error {
				leave()
				return gone.Err()
			})
		},
		write(t.Context(), "c", nil),
		write(t.Context(), "a2", nil),
	})
	for i, want := range []error{nil, bad, context.Canceled, nil, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("call %d: %v, not %v", i, errs[i], want)
		}
	}
	if diff := cmp.Diff([]string{"a", "a2", "c"}, noted(t, s)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// However much is written, the log is brought into the file in time and begun anew instead of growing.
func TestTheLogStaysShortUnderSteadyWriting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	const pages, pageBytes = 300, 4096
	const limit = 3 * pages * pageBytes
	s := open(t, path, Options{logPages: pages})
	for range 200 {
		startRuns(t, s, 20)
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > limit {
			t.Fatalf("the log has %d pages", info.Size()/pageBytes)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < limit/4 {
		t.Errorf("what was written is not in the file: %v, %v", info, err)
	}
}

func TestALogIsBegunAnewAfterACheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	startRuns(t, s, 600)
	s.log.stopLoop()
	s.log.due.Store(0)
	s.log.work(t.Context())
	before, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	startRuns(t, s, 100)
	after, err := os.Stat(path + "-wal")
	if err != nil || after.Size() != before.Size() {
		t.Errorf("the log grew from %d to %d bytes, %v", before.Size(), after.Size(), err)
	}
}

func TestTheFileCanGiveFreePagesBack(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "millrace.db"), Options{})
	c := <-s.writer
	defer func() { s.writer <- c }()
	const incremental = 2
	_, err := c.One("pragma auto_vacuum", func(r *row) error {
		if mode := r.ColumnInt(0); mode != incremental {
			t.Errorf("auto_vacuum is %d", mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheFirstCommitsOverwriteTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "millrace.db")
	s := open(t, path, Options{})
	startRuns(t, s, 1)
	for !s.log.grown.Load() {
		runtime.Gosched()
	}
	ids := startRuns(t, s, 3)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != firstBytes {
		t.Errorf("the log: %v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stored, err := all(t.Context(), open(t, path, Options{}))
	if err != nil || len(stored) != 4 || stored[3] != ids[2] {
		t.Errorf("stored: %v, %v", stored, err)
	}
}

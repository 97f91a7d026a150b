// Package logfile keeps what attempts say while they run, in files beside the database, where other processes can read it.
//
// Nouns: a [Folder] holds the logs of all runs of one database; a [Writer] takes the lines of one attempt; a [Tail] gives
// what was added since it was last asked. Nothing of it goes through the database: lines never slow a settlement, and a log
// that is lost loses no work. The journal keeps the end of each log beside the attempt's outcome; a file outlives its attempt
// only when it holds more than that.
//
// It imports the standard library alone.
package logfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The limits of what is kept on disk.
const (
	// HalfBytes is how large the file of a running attempt grows before it becomes the older half of the log, and the half
	// before it is dropped: the last HalfBytes at least can be read, twice as many at most.
	HalfBytes = 512 << 10
	// RunBytes is how much one process keeps of the logs of one run's ended attempts; later ones are then in the journal
	// alone.
	RunBytes = 64 << 20
)

// Folder holds the logs of the runs of one database. It is made when the first line is written. It is safe for concurrent use.
type Folder struct {
	dir  string
	mu   sync.Mutex
	kept map[string]int64 // bytes kept of ended attempts, by run
}

// At gives the folder dir.
func At(dir string) *Folder { return &Folder{dir: dir, kept: map[string]int64{}} }

const longestName = 180 // bytes; file systems take 255

// file gives the place of an attempt's log, RUN/PATH.ATTEMPT, to which a suffix is added: with what file names do not take
// percent-encoded, and a hash for a path that is too long.
func (f *Folder) file(run, path string, attempt int) string {
	name := url.PathEscape(path)
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(path))
		name = name[:longestName-66] + "-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(f.dir, run, name+"."+strconv.Itoa(attempt))
}

const (
	liveSuffix  = ".live"  // of a running attempt, or of one whose process died
	olderSuffix = ".older" // its older half
	endedSuffix = ".log"
)

// Read gives what is kept of an attempt's log; false when there is no file of it.
func (f *Folder) Read(run, path string, attempt int) (string, bool, error) {
	name := f.file(run, path, attempt)
	var text strings.Builder
	found := false
	for _, suffix := range []string{endedSuffix, olderSuffix, liveSuffix} {
		part, err := os.ReadFile(name + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", false, err
		}
		found = true
		text.Write(part)
		if suffix == endedSuffix {
			break
		}
	}
	return text.String(), found, nil
}

// Forget drops the count of a run that has ended; its files stay.
func (f *Folder) Forget(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kept, run)
}

// Remove removes the logs of runs that are gone. A run without logs is no mistake.
func (f *Folder) Remove(runs []string) error {
	var all []error
	for _, run := range runs {
		if !filepath.IsLocal(run) || run == "." || strings.ContainsAny(run, `/\\`) {
			return fmt.Errorf("remove logs: %q is no run", run)
		}
		f.Forget(run)
		all = append(all, os.RemoveAll(filepath.Join(f.dir, run)))
	}
	return errors.Join(all...)
}

// mayKeep counts n more bytes of a run, if they may be kept.
func (f *Folder) mayKeep(run string, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept[run]+int64(n) > RunBytes {
		return false
	}
	f.kept[run] += int64(n)
	return true
}

package store

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/machine"
)

// The rules of the contract that are arithmetic stand here, so that all stores count alike.

const (
	// DefaultBytes is how many bytes of payloads a claim brings at most when it does not say.
	DefaultBytes = 16 << 20
	// DefaultRows is how many rows a list has at most when its filter does not say.
	DefaultRows = 100
	// SetAside is for how long a task is Delayed whose run cannot be read.
	SetAside = time.Minute
)

const (
	second   = machine.Time(time.Second / time.Microsecond)
	perBoost = 2 * second // rank of one point of priority
)

// IsSkewed says whether the time of a settlement is too far from the store's.
func IsSkewed(at, now machine.Time) bool { return at-now > second || now-at > second }

// Rank is a task's place in its lane: the smallest is claimed first.
func Rank(readyAt machine.Time, priority int) int64 {
	return int64(readyAt) - int64(priority)*int64(perBoost)
}

// Continues gives nil when the entries lead a journal of length seq to that of the run after them, else an error that wraps
// ErrRefused.
func (s *Settlement) Continues(seq int64) error {
	for i := range s.Entries {
		if s.Entries[i].Seq != seq+int64(i)+1 {
			return fmt.Errorf("%w: entry %d does not continue the journal", ErrRefused, s.Entries[i].Seq)
		}
	}
	if s.Run.Seq != seq+int64(len(s.Entries)) {
		return fmt.Errorf("%w: the journal would not end at entry %d", ErrRefused, s.Run.Seq)
	}
	return nil
}

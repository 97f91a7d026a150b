package said

import (
	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/voices"
	"github.com/millrace-go/millrace/machine"
)

// lateness knows which attempts have a late outcome in the journal up to the entry until. It reads ahead when first asked.
type lateness struct {
	until int64
	of    map[voices.Voice]bool
}

// none says whether an attempt whose end is the entry seq has no late outcome. page gives entries after one; attempts are asked
// about in the order of the journal.
func (l *lateness) none(t attemptText, seq int64, page func(after int64) ([]millrace.JournalEntry, error)) (bool, error) {
	if l.of != nil {
		return !l.of[voices.Voice{Path: t.Path, Attempt: t.Attempt}], nil
	}
	l.of = map[voices.Voice]bool{}
	for seq < l.until {
		entries, err := page(seq)
		if err != nil {
			return false, err
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			seq = e.Seq
			if e.Kind == machine.TaskLate {
				l.of[voices.Voice{Path: e.Path, Attempt: e.Attempt}] = true
			}
		}
	}
	return !l.of[voices.Voice{Path: t.Path, Attempt: t.Attempt}], nil
}

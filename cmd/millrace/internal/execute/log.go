package execute

import (
	"maps"
	"sync"

	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/internal/engine"
)

// Log takes what the attempts of this process say, and hides in it the secrets that the process knows. Its zero value passes nothing on. It is safe for concurrent use; its fields
// are set before the first attempt.
type Log struct {
	Files *logfile.Folder                // nil: none are kept
	Tell  func(runID, path, line string) // hears each line; nil: nobody

	mu   sync.Mutex
	last map[string]string // by path
}

// attemptLog takes the lines of one attempt.
type attemptLog struct {
	log  *Log
	of   *engine.Attempt
	file *logfile.Writer
}

func (l *Log) begin(a *engine.Attempt) *attemptLog {
	out := &attemptLog{log: l, of: a}
	if l.Files != nil {
		out.file = l.Files.Writer(a.ID, a.Path, a.Number)
	}
	return out
}

// line takes one line. Lines of one attempt come one at a time.
func (a *attemptLog) line(text string) {
	text = a.of.Mask(text)
	if a.file != nil {
		a.file.Line(text)
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	if a.log.last == nil {
		a.log.last = map[string]string{}
	}
	a.log.last[a.of.Path] = text
	if a.log.Tell != nil {
		a.log.Tell(a.of.ID, a.of.Path, text)
	}
}

// end takes the whole log. That its file could not be kept costs the log alone: its end is in the journal.
func (a *attemptLog) end(whole string) {
	if a.file != nil {
		_ = a.file.End(a.of.Mask(whole), JournalBytes)
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	delete(a.log.last, a.of.Path)
}

// Last gives the last lines of attempts under way, by path; it is asked by who drives one run.
func (l *Log) Last() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.last)
}

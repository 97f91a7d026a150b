package execute

import (
	"maps"
	"sync"

	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/internal/engine"
)

// Log takes what the attempts of this process say. Its zero value passes nothing on. It is safe for concurrent use; its fields
// are set before the first attempt.
type Log struct {
	Files *logfile.Folder                       // nil: none are kept
	Mask  func(string) string                   // hides secrets in what is shown and kept in files; nil: there are none
	Tell  func(runID, path string, line string) // hears each line; nil: nobody

	mu   sync.Mutex
	last map[string]string // by path
}

// attemptLog takes the lines of one attempt.
type attemptLog struct {
	log  *Log
	run  string
	path string
	file *logfile.Writer
}

func (l *Log) begin(a *engine.Attempt) *attemptLog {
	out := &attemptLog{log: l, run: a.ID, path: a.Path}
	if l.Files != nil {
		out.file = l.Files.Writer(a.ID, a.Path, a.Number)
	}
	return out
}

// line takes one line. Lines of one attempt come one at a time.
func (a *attemptLog) line(text string) {
	text = a.log.masked(text)
	if a.file != nil {
		a.file.Line(text)
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	if a.log.last == nil {
		a.log.last = map[string]string{}
	}
	a.log.last[a.path] = text
	if a.log.Tell != nil {
		a.log.Tell(a.run, a.path, text)
	}
}

// end takes the whole log. That its file could not be kept costs the log alone: its end is in the journal.
func (a *attemptLog) end(whole string) {
	if a.file != nil {
		_ = a.file.End(a.log.masked(whole), JournalBytes)
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	delete(a.log.last, a.path)
}

func (l *Log) masked(text string) string {
	if l.Mask == nil {
		return text
	}
	return l.Mask(text)
}

// Last gives the last lines of attempts under way, by path; it is asked by who drives one run.
func (l *Log) Last() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.last)
}

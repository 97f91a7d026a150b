package cli

import (
	"os"
	"sync"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// display shows a run while it is driven or watched.
type display interface {
	view(v *millrace.View, note string) error
	line(path, text string)
	close() error
}

// newDisplay gives what suits standard error: frames on a terminal, lines in a pipe, nothing beside documents. Served is the
// handler that this process executes, last gives the last lines of attempts under way.
func (a *app) newDisplay(served string, driver screen.Driver, last func() map[string]string) display {
	switch {
	case isTerminal(a.err):
		return &terminal{last: last, served: served, driver: driver, live: screen.NewLive(a.err), out: a.err}
	case a.json:
		return silent{}
	default:
		return &plainLines{app: a, progress: screen.Progress{Served: served, Driver: driver}}
	}
}

// terminal shows frames in place.
type terminal struct {
	last   func() map[string]string
	served string
	driver screen.Driver
	live   *screen.Live
	out    *os.File
}

func (t *terminal) view(v *millrace.View, note string) error {
	width, height := size(t.out)
	f := screen.Frame{
		View: v, Logs: t.last(), Served: t.served, Driver: t.driver, Note: note, Now: time.Now(),
		Width: width, Height: height - 1, Style: style(t.out),
	}
	return t.live.Draw(f.Lines(), width)
}

func (t *terminal) line(string, string) {}
func (t *terminal) close() error        { return t.live.Close() }

// plainLines tells changes line by line, with what attempts say between them, in the order in which it happened. What they
// say waits for the next view, so that nothing is told before the change that led to it.
type plainLines struct {
	*app
	progress screen.Progress
	note     string

	mu   sync.Mutex // guards said
	said []screen.Said
}

// maxSaid is how many lines wait for a view at most.
const maxSaid = 1000

func (p *plainLines) view(v *millrace.View, note string) error {
	p.mu.Lock()
	said := p.said
	p.said = nil
	p.mu.Unlock()
	for _, line := range p.progress.Lines(v, said, time.Now()) {
		p.say("%s", line)
	}
	if note != p.note && note != "" {
		p.say("%s", note)
	}
	p.note = note
	return nil
}

func (p *plainLines) line(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, screen.Said{At: time.Now(), Text: path + " | " + text})
	if len(p.said) >= maxSaid {
		p.flush()
	}
}

// flush tells what waits. The caller holds p.mu.
func (p *plainLines) flush() {
	for _, s := range p.said {
		p.say("%s", s.Text)
	}
	p.said = nil
}

func (p *plainLines) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flush()
	return nil
}

// silent shows nothing: with --json in a pipe, standard error is for errors alone.
type silent struct{}

func (silent) view(*millrace.View, string) error { return nil }
func (silent) line(string, string)               {}
func (silent) close() error                      { return nil }

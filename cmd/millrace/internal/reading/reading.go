// Package reading holds the commands that only look at what is stored: runs, show, journal, logs, queues and workflows.
//
// Nouns: a [Desk] is where one reads; [Open] opens one.
//
// It imports the root package, store for filters, and its siblings for arguments, pictures and what attempts said.
package reading

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Open opens the database and lets use read in it. Where there is no database yet, it fails, but for a list: then the desk has
// no client.
type Open func(ctx context.Context, use func(*Desk) error) error

// Desk is where one reads.
type Desk struct {
	Client *millrace.Client
	Logs   *logfile.Folder // what attempts said on this machine
	Tenant string
	Out    io.Writer // for what was read
	Err    io.Writer // for people
	JSON   bool
	Width  int
	Style  screen.Style
	// Patience is how long who follows goes on when the database cannot be used.
	Patience time.Duration
}

// callTimeout bounds one look.
const callTimeout = 30 * time.Second

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}

// find finds a run by what people call it.
func (d *Desk) find(ctx context.Context, ref string) (string, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return d.Client.Find(ctx, d.Tenant, ref)
}

func (d *Desk) say(format string, args ...any) { fmt.Fprintf(d.Err, format+"\n", args...) }

func (d *Desk) write(text string) error {
	_, err := io.WriteString(d.Out, text)
	return err
}

// print writes one document.
func (d *Desk) print(doc any) error {
	e := json.NewEncoder(d.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// inLine gives a document in one line, without its end.
func inLine(doc any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(doc)
	return strings.TrimRight(b.String(), "\n"), err
}

// Package desk is where a command works: a client of the database, and where its documents and its words go.
//
// Nouns: a [Desk] is what every command has; commands that need more have a desk of their own around it. A document is what
// `--json` prints.
//
// It imports the root package, and screen.
package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

// Desk is where a command works.
type Desk struct {
	Client *millrace.Client // nil, of a list, where there is no database yet
	Tenant string
	Out    io.Writer // for what was asked for
	Err    io.Writer // for people
	JSON   bool
	Width  int
	Style  screen.Style
}

// CallTimeout bounds one look into the store, or one order.
const CallTimeout = 30 * time.Second

// Limited gives a context for one of these.
func Limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, CallTimeout)
}

// Find gives the id of a run by what people call it.
func (d *Desk) Find(ctx context.Context, ref string) (string, error) {
	ctx, cancel := Limited(ctx)
	defer cancel()
	return d.Client.Find(ctx, d.Tenant, ref)
}

// Say writes a line for people.
func (d *Desk) Say(format string, args ...any) { fmt.Fprintf(d.Err, format+"\n", args...) }

// Write writes text that was asked for.
func (d *Desk) Write(text string) error {
	_, err := io.WriteString(d.Out, text)
	return err
}

// Print writes a document.
func (d *Desk) Print(doc any) error { return Encode(d.Out, doc) }

// PrintLine writes a document in one line.
func (d *Desk) PrintLine(doc any) error {
	text, err := InLine(doc)
	if err != nil {
		return err
	}
	return d.Write(text + "\n")
}

// Encode writes a document to w, for people to read as well.
func Encode(w io.Writer, doc any) error { return encode(w, doc, "  ") }

// InLine gives a document in one line, without its end.
func InLine(doc any) (string, error) {
	var b strings.Builder
	err := encode(&b, doc, "")
	return strings.TrimRight(b.String(), "\n"), err
}

func encode(w io.Writer, doc any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(doc)
}

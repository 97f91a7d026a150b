// Package reading holds the commands that only look at what is stored: runs, show, journal, logs, queues and workflows.
//
// Nouns: a [Desk] is where one reads; [Open] opens one.
//
// It imports the root package, store for filters, and its siblings for arguments, pictures and what attempts said.
package reading

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
)

// Open opens the database and lets use read in it. Where there is no database yet, it fails, but for a list: then the desk has
// no client.
type Open func(ctx context.Context, use func(*Desk) error) error

// Desk is where one reads.
type Desk struct {
	desk.Desk
	Logs *logfile.Folder // what attempts said on this machine
	// Patience is how long who follows goes on when the database cannot be used.
	Patience time.Duration
}

package cli

import (
	"os"
	"sync"

	"github.com/millrace-go/millrace/cmd/millrace/internal/stores"
)

// ears are how this process hears of what others do in a database of PostgreSQL. Without them it finds out by polling.
type ears struct {
	url string // past a pooler; empty: that of the database

	mu  sync.Mutex
	why error // nothing can be heard; nil: it can, or nobody knows yet
}

// listenAt gives the ears that --listen-db or its variable asks for.
func (a *app) listenAt() (*ears, error) {
	e := &ears{url: orElse(a.listenDB, os.Getenv("MILLRACE_LISTEN_DB"))}
	if e.url != "" && !stores.Remote(e.url) {
		return nil, usage("write --listen-db postgres://USER@HOST/DATABASE: the database of --db, past the pooler",
			"%q does not name a database of PostgreSQL", stores.Redact(e.url))
	}
	return e, nil
}

func (e *ears) deaf(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.why = why
}

// complaint says once why nothing can be heard; empty: there is nothing to say, or not yet.
func (e *ears) complaint() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		return ""
	}
	text, hint := e.why.Error(), "correct --listen-db or $MILLRACE_LISTEN_DB"
	if e.url == "" {
		hint = "behind a pooler, name the way past it with --listen-db"
	}
	e.why = nil
	return "what other processes do cannot be heard of, only found by polling, within a second: " + text + "; " + hint
}

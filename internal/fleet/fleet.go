// Package fleet gives tests engines as real processes of the operating system: the test's own binary, executed again, so that
// a process can be killed, halted, drained and replaced as it happens to a fleet.
//
// Nouns: a [Crew] says what the processes of a kind do; [Main] stands in TestMain and turns the process into an engine when it
// was started as one; [Options] are the settings of one process; a [Process] is one that runs, seen from the test; the
// [Ledger] is a folder in which each process writes down every call of a handler, apart from the database, so that it can be
// compared with what the database says; an [Order] is the input of the crew [Work]: what its handler is to do.
//
// A process that was started ends with the one that started it, however that ends. It is support for tests, and imports the
// root, store and store/postgres.
package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/store"
)

// Options are the settings of one engine process. They reach it as JSON.
type Options struct {
	URL      string // of the database; the schema must be there (see Prepare)
	Schema   string // default: that of the store
	Conns    int    // connections of the store at most; default: its own
	NoHints  bool
	Pooled   bool
	Crew     string // of those that Main was given; default: Work
	Label    string // version of the program, for the ledger and for tests that replace one
	Tenant   string
	Slots    int
	Queues   map[string]int
	Lease    time.Duration
	Grace    time.Duration
	Handlers []string      // of the crew Work: names that it serves; default: "work"
	Delay    time.Duration // of the crew Work: how long an attempt takes whose order says nothing else
	Define   []string      // workflow files, as text: registered before the engine runs
	Folder   string        // of the ledger, and of the log of each process
	Extra    json.RawMessage
}

// Crew says what the processes of a kind do. Its functions run in the process itself.
type Crew struct {
	// Handlers gives those that the engine serves.
	Handlers func(w *Workplace) []millrace.Handler
	// Store puts something before the store. Default: nothing.
	Store func(w *Workplace, st store.Store) store.Store
	// Observer hears of what happens in the process. Default: nobody.
	Observer func(w *Workplace) millrace.Observer
}

// Workplace is what a crew finds in its process.
type Workplace struct {
	Options Options
	Owner   string // the process's name in the store
	Ledger  *Ledger
}

// Work is the name of the crew that every Main knows: one handler, which follows its Order.
const Work = "work"

// variable says that the process is to be an engine.
const variable = "MILLRACE_FLEET_ENGINE"

// Main is what TestMain calls: it runs the tests and gives their exit status, or is an engine of one of crews until it is told
// to end. What TestMain sets up for tests alone belongs behind a look at [IsEngine].
func Main(m *testing.M, crews map[string]Crew) int {
	if !IsEngine() {
		return m.Run()
	}
	all := map[string]Crew{Work: {Handlers: Workers}}
	maps.Copy(all, crews)
	return engineProcess(all)
}

// IsEngine says whether this process was started as an engine.
func IsEngine() bool { return os.Getenv(variable) != "" }

// report is what a process tells the one that started it, a line of JSON each.
type report struct {
	Ready string `json:"ready,omitempty"` // the owner
	Ended bool   `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
}

// check reports everything that is wrong with o.
func (o *Options) check() error {
	var all []error
	if o.URL == "" {
		all = append(all, errors.New("fleet: URL is empty; expected that of a database"))
	}
	if info, err := os.Stat(o.Folder); err != nil || !info.IsDir() {
		all = append(all, fmt.Errorf("fleet: Folder is %q; expected a folder", o.Folder))
	}
	return errors.Join(all...)
}

package engine

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/internal/clock"
)

// Config says what an engine serves and how. The zero value is usable: an engine that serves nothing, but starts runs,
// fires timers, delivers messages and declares losses.
type Config struct {
	// Owner is the process's name in the store. It must be new for each process. Default: host, process and a random number.
	Owner string
	// Handlers execute tasks, by the name of the task's handler. The engine claims no other tasks. Default: none.
	Handlers map[string]Handler
	// Slots is how many attempts may run at once. Default 64.
	Slots int
	// Queues is how many attempts of a queue may run at once; a queue that is not named has no limit of its own. A claim of
	// Only is not bounded by it. Default: none.
	Queues map[string]int
	// Only, when set, makes the engine serve this run and nothing else.
	Only *Only
	// Lease is for how long a task is held without a sign of life. Default 30 s.
	Lease time.Duration
	// Renew is the time between two renewals of a lease. Default: a third of Lease.
	Renew time.Duration
	// Grace is how long attempts may go on after Run was told to stop, and once more, with 5 s added, how long they may take
	// to heed the end of their context: a handler may give what it executes all of Grace to end by itself. Default 10 s.
	Grace time.Duration
	// Flush is how long Run, once told to stop, tries to settle what is finished while the store does not answer. Default 30 s.
	Flush time.Duration
	// Secrets finds the secrets that steps name. It is called from many goroutines, for each attempt that names one; values are
	// never stored, and masked wherever an attempt says them. Default: none is known.
	Secrets func(name string) (value string, ok bool)
	// MaxPayload is the most bytes that an input, an output or an error's data may have. Default 1 MiB.
	MaxPayload int
	// Batch is the most runs that one settlement takes. Default 300.
	Batch int
	// Settlers is how many settlements, of different runs, may be in flight at once. Default 2.
	Settlers int
	// CallTimeout is the deadline of one call of the store. Default 10 s.
	CallTimeout time.Duration
	// Clock says how long to wait. Default: the operating system's.
	Clock clock.Clock
	// Launcher has attempts executed. Default: each in a goroutine of its own, by its handler.
	Launcher Launcher
	// Retention, when set, has Run remove runs that ended long ago. Default: all are kept.
	Retention *Retention
	// Logger hears of faults. Default slog.Default().
	Logger *slog.Logger
	// Observer hears of what happens here. Default: nobody.
	Observer Observer
	// Seed decides the tokens. Default 0: a random seed.
	Seed uint64
	// NewID gives the id of a new run: a UUIDv7 as text. Default: monotonic within the process.
	NewID func() string
}

// Only names the one run that an engine serves.
type Only struct {
	Tenant string
	RunID  string
}

// Validate reports everything that is wrong with c at once: field, value, expectation.
func (c *Config) Validate() error {
	var all []error
	number := func(name string, v int) {
		if v < 0 {
			all = append(all, fmt.Errorf("config: %s is %d; expected 1 or more, or 0 for the default", name, v))
		}
	}
	number("Slots", c.Slots)
	number("MaxPayload", c.MaxPayload)
	number("Batch", c.Batch)
	number("Settlers", c.Settlers)
	duration := func(name string, v time.Duration) {
		if v < 0 {
			all = append(all, fmt.Errorf("config: %s is %s; expected a time above zero, or 0 for the default", name, v))
		}
	}
	duration("Lease", c.Lease)
	duration("Renew", c.Renew)
	duration("Grace", c.Grace)
	duration("Flush", c.Flush)
	duration("CallTimeout", c.CallTimeout)
	if d := c.withDefaults(); c.Lease >= 0 && d.Renew > d.Lease/2 {
		all = append(all, fmt.Errorf("config: Renew is %s; expected at most half of Lease, which is %s", d.Renew, d.Lease))
	}
	if c.Only != nil && (c.Only.Tenant == "" || c.Only.RunID == "") {
		all = append(all, errors.New("config: Only is incomplete; expected a tenant and a run"))
	}
	return errors.Join(slices.Concat(all, c.Retention.Validate(), c.validateNames())...)
}

func (c *Config) validateNames() []error {
	var all []error
	for name, h := range c.Handlers {
		if name == "" || h == nil {
			all = append(all, fmt.Errorf("config: Handlers[%q] is incomplete; expected a name and a handler", name))
		}
	}
	for name, n := range c.Queues {
		if name == "" || n < 1 {
			all = append(all, fmt.Errorf("config: Queues[%q] is %d; expected a name and 1 or more", name, n))
		}
	}
	slices.SortFunc(all, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return all
}

func (c *Config) withDefaults() Config {
	d := *c
	d.Slots = positive(d.Slots, 64)
	d.Lease = positive(d.Lease, 30*time.Second)
	d.Renew = positive(d.Renew, d.Lease/3)
	d.Grace = positive(d.Grace, 10*time.Second)
	d.Flush = positive(d.Flush, 30*time.Second)
	d.MaxPayload = positive(d.MaxPayload, 1<<20)
	d.Batch = positive(d.Batch, 300)
	d.Settlers = positive(d.Settlers, 2)
	d.CallTimeout = positive(d.CallTimeout, 10*time.Second)
	if d.Clock == nil {
		d.Clock = clock.Real{}
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Observer == nil {
		d.Observer = nobody{}
	}
	if d.Seed == 0 {
		d.Seed = randomSeed()
	}
	if d.NewID == nil {
		d.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return d
}

func positive[T int | time.Duration](v, byDefault T) T {
	if v == 0 {
		return byDefault
	}
	return v
}

func randomSeed() uint64 {
	var b [8]byte
	_, _ = cryptorand.Read(b[:]) // it never fails: the runtime ends the program first
	return binary.LittleEndian.Uint64(b[:])
}

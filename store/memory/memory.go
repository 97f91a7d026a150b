// Package memory is a store in maps: nothing outlives the process. It is the model that the other stores are compared with,
// and what tests and the simulation run on.
//
// Nouns: a [Store] holds rows under one mutex; its clock is given to it. Documents, payloads and errors lie in it as the
// bytes that a database would hold, so that nothing is shared with a caller. It is deterministic: the same calls in the same
// order at the same times give the same answers, in the same order.
//
// It imports store, machine, and a reader of ids.
package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// Store is a [store.Store] in memory. It is safe for concurrent use.
type Store struct {
	clock func() machine.Time

	mu        sync.Mutex
	closed    chan struct{}
	workflows map[named][]store.Workflow // by version, ascending
	runs      map[string]*run
	live      map[string]*run // those that have not ended, or of which something is live
	keys      map[keyed]key
	lanes     []*lane // the lane with id n is lanes[n-1]
	laneOf    map[store.Lane]*lane
	letters   []*letter // by id, ascending
	lastID    int64     // that of the newest letter
	pauses    map[paused]store.Pause
	messages  int64 // the last Seq given
	dead      map[string]bool
	processes map[string]store.ProcessRow
	watchers  map[chan store.Hint]struct{}
}

var _ store.Store = (*Store)(nil)

type named struct{ tenant, name string }

type keyed struct{ tenant, workflow, key string }

type key struct {
	run  string
	hash [32]byte
}

type lane struct {
	store.Lane
	tasks map[*task]struct{}
}

type run struct {
	machine.Header
	status         machine.Status
	version        int64
	seq            int64
	at             machine.Time
	started, ended machine.Time
	root           []byte
	err            []byte
	docs           map[string][]byte
	entries        []store.Entry
	values         map[machine.Ref]json.RawMessage
	tasks          map[string]*task
	timers         map[string]store.Timer
	inbox          []store.Message
	told           map[string]bool // ids of messages, delivered or not
}

// task holds a live task; env is its Env as JSON, and Live.Env and Live.Lane are filled in when it is read.
type task struct {
	store.Live
	run  *run
	lane *lane
	env  []byte
	rank int64
}

type letter struct {
	store.Letter
	err []byte
}

// New gives an empty store whose time is clock's; clock is called under the store's mutex and must not call back.
func New(clock func() machine.Time) *Store {
	return &Store{
		clock:     clock,
		closed:    make(chan struct{}),
		workflows: map[named][]store.Workflow{},
		runs:      map[string]*run{},
		live:      map[string]*run{},
		keys:      map[keyed]key{},
		laneOf:    map[store.Lane]*lane{},
		pauses:    map[paused]store.Pause{},
		dead:      map[string]bool{},
		processes: map[string]store.ProcessRow{},
		watchers:  map[chan store.Hint]struct{}{},
	}
}

// enter takes the mutex; the caller gives it back with leave. It fails when ctx has ended or the store is closed.
func (s *Store) enter(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &store.StoreError{Op: op, Kind: store.ErrUnavailable, Hint: "look at what became of it, and try again", Err: err}
	}
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return &store.StoreError{Op: op, Kind: store.ErrUnusable, Hint: "open it again", Err: errors.New("the store is closed")}
	default:
		return nil
	}
}

func (s *Store) leave() { s.mu.Unlock() }

// Clock gives the time of the clock that New got.
func (s *Store) Clock(ctx context.Context) (machine.Time, error) {
	if err := s.enter(ctx, "clock"); err != nil {
		return 0, err
	}
	defer s.leave()
	return s.clock(), nil
}

// Close makes all later calls fail and ends every Watch. A repeat is no mistake.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

// Watch is [store.Worker.Watch]: hints come at once, from this process alone.
func (s *Store) Watch(ctx context.Context, wake func(store.Hint)) error {
	if err := s.enter(ctx, "watch"); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	hints := make(chan store.Hint, 1)
	s.watchers[hints] = struct{}{}
	s.leave()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, hints)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closed:
			return &store.StoreError{Op: "watch", Kind: store.ErrUnusable, Hint: "open it again", Err: errors.New("the store is closed")}
		case h := <-hints:
			wake(h)
		}
	}
}

// hint is called under the mutex.
func (s *Store) hint(h store.Hint) {
	for hints := range s.watchers {
		h.Send(hints)
	}
}

// Bury declares the process owner dead: from now on Expired lists what it holds. Tests call it where an operating system
// would have freed a lock.
func (s *Store) Bury(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead[owner] = true
	s.hint(store.Hint{})
}

// Damage writes over a document of a run, the root's at "": tests call it where somebody would change a database by hand.
// Nothing happens to a run that is not there.
func (s *Store) Damage(runID, path string, doc []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := s.runs[runID]; {
	case r == nil:
	case path == "":
		r.root = bytes.Clone(doc)
	default:
		r.docs[path] = bytes.Clone(doc)
	}
}

// lane gives the lane of a task, and makes it when it is new.
func (s *Store) lane(tenant, queue, handler, workflow string) *lane {
	name := store.Lane{Tenant: tenant, Queue: queue, Handler: handler, Workflow: workflow}
	if l := s.laneOf[name]; l != nil {
		return l
	}
	l := &lane{Lane: name, tasks: map[*task]struct{}{}}
	l.ID = int64(len(s.lanes)) + 1
	l.Paused = s.covered(name)
	s.lanes = append(s.lanes, l)
	s.laneOf[name] = l
	return l
}

func (r *run) drop(t *task) {
	delete(r.tasks, t.Path)
	delete(t.lane.tasks, t)
}

// find gives the run of a tenant.
func (s *Store) find(tenant, runID string) (*run, error) {
	r := s.runs[runID]
	if r == nil || r.Tenant != tenant {
		return nil, store.ErrNotFound
	}
	return r, nil
}

// encode writes what is known to be writable: plain structures whose raw parts were found storable.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func clone(raw json.RawMessage) json.RawMessage { return bytes.Clone(raw) }

func encodeError(e *machine.Error) []byte {
	if e == nil {
		return nil
	}
	return encode(e)
}

func decodeError(b []byte) *machine.Error {
	if b == nil {
		return nil
	}
	e := &machine.Error{}
	if err := json.Unmarshal(b, e); err != nil {
		panic(err)
	}
	return e
}

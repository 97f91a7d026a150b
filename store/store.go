// Package store is where runs are kept: the interface that every store implements, in batches.
//
// Nouns: a [Workflow] is a registered definition; a run has a row, documents, live tasks, timers, an inbox, values and a
// journal; a [Lane] is a named supply of ready tasks; a [Claimed] task is held under a lease and a token; a [Settlement] is
// everything that one applied batch of events changes of one run, in one transaction.
//
// A store carries out what the machine decided and decides nothing: it compares versions and tokens, and writes. Every
// method may be called concurrently, blocks until its transaction is durable or refused, honours its context, and never
// holds a transaction open after it returns. Errors other than the kinds in errors.go are faults of the store; after one, a
// write may or may not have happened, and the caller asks.
package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/machine"
)

// Store is one open database. Its parts are interfaces of their own, so that a caller names what it needs.
//
//tidy:allow ifacelen it is the sum of its parts, each of which is small; nothing but opening and closing takes it whole
type Store interface {
	Definitions
	Starter
	Worker
	Supply
	Mailbox
	Reader
	Keeper

	// Clock gives the store's time: the only one that is written.
	Clock(ctx context.Context) (machine.Time, error)
	// Close releases the database. Calls after it fail.
	Close() error
}

// Definitions keeps workflows.
type Definitions interface {
	// Register stores a definition, once for ever. Version 0 takes the version of the newest when the content is equal to
	// it, else the next free number. The same content under its version again is a no-op; other content is a
	// *ConflictError that names the next free version. It returns the version and whether it is new.
	Register(ctx context.Context, w Workflow) (version int, created bool, err error)
	// Workflow finds a definition; version 0 is the newest. ErrNotFound if there is none.
	Workflow(ctx context.Context, tenant, name string, version int) (Workflow, error)
	// Workflows lists the newest version of each name, ordered by name.
	Workflows(ctx context.Context, tenant string) ([]Workflow, error)
}

// Workflow is a registered definition.
type Workflow struct {
	Tenant    string
	Name      string
	Version   int
	Hash      [32]byte
	Doc       []byte // canonical document
	CreatedAt machine.Time
}

// Starter starts runs.
type Starter interface {
	// Start inserts new runs in one transaction, in the order given, and reports per item: an item whose key is taken by an
	// equal start gives the first run (Created false), by another a *ConflictError; neither disturbs the other items. Items
	// of one call see each other's keys. A key is taken within (tenant, workflow), for ever: also after its run has ended, and
	// after it was pruned: RunID then names a run that is not there.
	// An item whose id exists gives that run (Created false) when it is the same tenant's, so that a start whose answer was
	// lost can be repeated; else it is refused. An item's Settlement is what RunStarted led to; its From is 0, and it may
	// hand over tasks. A new run has version 1. The workflow must be registered.
	Start(ctx context.Context, starts []Start) ([]Started, error)
}

// Start asks for a new run.
type Start struct {
	Settlement
	KeyHash [32]byte // hash of the input as a JSON value; compared when Run.Key is set and taken
}

// Started says what became of a Start.
type Started struct {
	RunID   string
	Created bool
	Err     error // *ConflictError, or one that wraps ErrRefused or ErrSkewed; then RunID is empty. nil otherwise
	Handed  []Claimed
}

// Worker is what executing processes use.
type Worker interface {
	// Lanes lists the lanes that may hold ready tasks or held a task once, of all tenants, by id, at most limit, after the
	// lane id after. A lane is made by the first task that is started in it, and stays.
	Lanes(ctx context.Context, after int64, limit int) ([]Lane, error)
	// Stocked lists the lanes in which a claim would find a task now, paused or not, of all tenants, by id, at most limit, after
	// the lane id after. It may list others; it leaves none out. What it costs grows with the lanes that it lists, not with
	// what lies in them, nor with those that are empty.
	Stocked(ctx context.Context, after int64, limit int) ([]Lane, error)
	// Claim takes ready tasks, skipping what others hold, and moves due delayed tasks into the ready set before. Lanes are
	// served in the order given, each by rank: the time when the task became ready less 2 s for each point of priority,
	// smallest first (equal ranks: in no promised order). A paused lane gives nothing. Each task gets its next attempt
	// number, Token, Owner, and a lease of its own Lease, else the claim's, from the store's now. Claim writes tasks only.
	// A task whose run cannot be read (ErrDamaged) stops no other: it is left out, and Delayed for SetAside.
	Claim(ctx context.Context, c Claim) ([]Claimed, error)
	// HeldBy gives what owner holds under token, by run and path, as Claim gave it: how a caller finds out what a claim or a
	// hand-over did whose answer was lost. A task whose run cannot be read is left out.
	HeldBy(ctx context.Context, owner string, token int64) ([]Claimed, error)
	// Settle carries out settlements, all in one transaction, each by itself: a settlement is Won when the run's version is
	// From and every guard holds; else it changes nothing (Lost) and the others are unharmed. One that would have won is
	// Skewed when its time is off, else Refused, with Err (ErrRefused), when Storable refuses its content, its entries do
	// not continue the stored journal up to Run.Seq, it starts a task at the path of a live one, or puts a value that
	// exists. A call carries at most one settlement of a run. See Settlement for the order in which it is carried out.
	Settle(ctx context.Context, s []Settlement) ([]Settled, error)
	// Renew prolongs the leases of all these tasks to lease from the store's now, and tells for each which are no longer
	// held under the token (lost) and which are asked to stop, in the order given. A task with a Lease of its own gets that
	// instead. With lease 0 it only asks. A lease that ran out is prolonged like any other while its token is current:
	// expiry alone revokes nothing.
	Renew(ctx context.Context, held []Held, lease time.Duration) ([]Renewed, error)
	// Beat records that a process lives: its row is made or refreshed. A repeat is no mistake.
	Beat(ctx context.Context, p Process) error
	// Expired lists held tasks whose lease ran out before the store's now, or whose owner is proved dead (Dead), by
	// LeaseUntil, oldest first, at most limit. It changes nothing: who declares a loss settles it under a Guard. A task whose
	// programs cannot be read (ErrDamaged) comes without Env and Refs.
	Expired(ctx context.Context, limit int) ([]Live, error)
	// Retire removes a process's row: it holds nothing any more. One that is not there is no mistake.
	Retire(ctx context.Context, owner string) error
	// Watch calls wake after every commit, by this handle or another, that may have made work: a task, a timer, a message, a
	// stop. It may call it without cause, and once for several commits. The hint says where, as far as that is known. wake runs
	// in Watch's own goroutine, never twice at a time; hints may be lost while a process dies, so that whoever waits polls too.
	// Watch blocks until ctx ends, and then returns nil.
	Watch(ctx context.Context, wake func(Hint)) error
}

// Lane is a division of the supply of ready tasks.
type Lane struct {
	ID       int64
	Tenant   string
	Queue    string
	Handler  string
	Workflow string
	Paused   bool // a pause covers it: nothing of it is claimed or handed over; see Supply
}

// Claim asks for ready tasks.
type Claim struct {
	Owner string // the process that will hold them
	Token int64  // random, from 1; the token of everything that this call claims
	Lease time.Duration
	Lanes []LaneLimit // from these lanes, at most so many each
	// Run, when set, claims from this run of Tenant only, by rank, whatever the lane, if the lane's handler is in Handlers;
	// Lanes is not read.
	Tenant   string
	Run      string
	Handlers []string
	Limit    int // at most so many in all
	Bytes    int // no further task once its payloads would bring all to more than so many bytes; 0: DefaultBytes
}

// LaneLimit is how many tasks to take from a lane.
type LaneLimit struct {
	Lane  int64
	Limit int
}

// Claimed is a task that the caller now holds, with what its programs read and what settling it needs.
type Claimed struct {
	Task
	Token    int64
	Run      RunState                        // the run as of the claim, with machine.Documents(Path), nil for what is not there
	Payloads map[machine.Ref]json.RawMessage // those of Task.Refs that exist
}

// Task is a row of a live task.
type Task struct {
	RunID    string
	Path     string
	Lane     Lane
	Priority int
	Attempt  int // the current attempt if held, else the last; 0: none yet
	Env      machine.Env
	Refs     []machine.Ref
	Cause    int64
	Lease    int64        // milliseconds; 0: the engine's default
	ReadyAt  machine.Time // StartTask.Due, or the settlement's At without it
}

// Live is a live task as it lies in the database.
type Live struct {
	Task
	Tenant     string
	State      TaskState
	Due        machine.Time // Delayed: not before; OnHold: as it was before; else without meaning
	Token      int64        // Leased: the current token; else 0, as the fields below are zero
	Owner      string
	LeaseUntil machine.Time
	ClaimedAt  machine.Time
	Stop       bool // its holder is asked to stop
	Dead       bool // Expired only: its owner is proved dead
}

// TaskState is where a live task stands.
type TaskState int

// The states of a live task.
const (
	Ready   TaskState = iota
	Delayed           // not before Due; a claim that finds it due makes it Ready
	Leased            // held by Owner until LeaseUntil
	OnHold            // of a paused run: not claimed and not handed over, until FreeTasks
)

// Held names an attempt that the caller holds.
type Held struct {
	RunID string
	Path  string
	Token int64
}

// Renewed says how an attempt stands.
type Renewed struct {
	Held
	Lost bool // the token is no longer current
	Stop bool // asked to stop
}

// Process is a row of `processes`.
type Process struct {
	Owner    string
	Host     string
	PID      int
	Serves   []string
	Draining bool
}

// RunState is a run as stored: what Apply needs, at a version.
type RunState struct {
	Run     *machine.Run
	Version int64 // the state version that the next settlement compares
}

// Settlement is what one batch of applied events changes of one run. The run's row is the run's lock: From is compared with
// its version, which then becomes From+1. It is carried out in this order: guards (all are asked before one removes), Timers
// and Inbox are removed, the run's row and Run.Changes are written, Entries appended, Effects carried out, tasks handed over.
//
// Of Run the store writes Status, Seq, At, StartedAt, FinishedAt, the root's document and the changed child documents; the
// Header is written by Start and never again. The store owns nothing of a settlement after the call returns. A run that has
// ended is settled like any other: it may go on, and end again.
//
// StartTask: a Due later than the store's now makes it Delayed, else it is Ready; with Held it is OnHold, its Due kept.
// StopTask: a task that nobody holds is deleted, one that is held under a token is marked, one that is not there is no
// mistake; the engine knows which by a Guard. HoldTasks makes the run's Ready and Delayed tasks OnHold, Due, ReadyAt and rank
// kept, and leaves those that are Leased; FreeTasks makes those that are OnHold Delayed again when Due is later than the store's
// now, else Ready. OpenLetter of a letter that is open already replaces its error and nothing else. EndRun deletes tasks,
// timers, inbox, what Tell remembers and, without Keep, child documents but those of results (their path ends in ":]"); it
// keeps values, journal and letters.
type Settlement struct {
	Run     *machine.Run // the run after the events
	From    int64        // version that the events were applied to; 0: the run is new
	At      machine.Time // time of the last event; refused (Skewed) when it differs from the store's by more than a second
	Entries []Entry
	Effects []machine.Effect // in order
	Causes  []int64          // for each effect, the number of the entry that led to it
	Guards  []Guard
	Timers  []string // keys of timers that fired: removed before the effects
	Inbox   []int64  // Seq of this run's messages that were delivered: removed
	Hand    HandOver
}

// Guard is a condition under which a settlement holds: the task at Path exists and its token is Token (0: nobody holds it).
// Remove deletes the task before the effects are carried out.
type Guard struct {
	Path   string
	Token  int64
	Remove bool
}

// HandOver asks that of the tasks that this settlement starts, the first Limit in the order of their effects are handed over
// to Owner, already claimed under Token, as Claim would: those that are Ready now, whose handler is in Handlers, and whose
// lane is not paused. The zero value hands over nothing.
type HandOver struct {
	Owner    string
	Token    int64
	Lease    time.Duration
	Handlers []string
	Limit    int
}

// Entry is one entry of a journal. Payload and Facts come back byte for byte.
type Entry struct {
	Seq     int64
	At      machine.Time
	Kind    machine.EventKind
	Path    string
	Name    string
	Key     string
	Attempt int
	Cause   int64
	Payload json.RawMessage
	Facts   json.RawMessage
}

// Event gives the event that the entry records.
func (e *Entry) Event() machine.Event {
	return machine.Event{
		Kind: e.Kind, At: e.At, Path: e.Path, Name: e.Name, Key: e.Key, Attempt: e.Attempt, Cause: e.Cause,
		Payload: e.Payload, Facts: e.Facts,
	}
}

// Result is what became of a settlement.
type Result int

// The results of a settlement.
const (
	Won     Result = iota
	Lost           // the version or a guard did not hold: nothing was changed
	Skewed         // At is more than a second away from Clock: nothing was changed
	Refused        // the database refused the content (Err): nothing was changed
)

// Settled says what became of one settlement.
type Settled struct {
	Result Result
	Err    error        // Refused: why
	Clock  machine.Time // the store's time
	Handed []Claimed    // Won: tasks handed over; their Run is the settlement's, Saved, at the new version
}

// Mailbox is how runs are told things other than outcomes.
type Mailbox interface {
	// Tell puts messages into inboxes, each recorded once per (run, ID): a repeat is dropped, whether the first still waits
	// or was delivered. Seq is given by the store, and Event.At becomes its time; the rest of the event but Loaded comes back
	// byte for byte. A run remembers the IDs until it ends. Per item: ErrNotFound, ErrEnded, ErrRefused.
	Tell(ctx context.Context, m []Message) ([]error, error)
	// Inbox lists waiting messages of all tenants, oldest first.
	Inbox(ctx context.Context, limit int) ([]Message, error)
	// Due lists timers of all tenants whose time has come by the store's clock, earliest first, and the time of the next one
	// that has not (zero: none). A timer stays until a settlement removes it.
	Due(ctx context.Context, limit int) ([]Timer, machine.Time, error)
}

// Message is a row of an inbox: an event for a run.
type Message struct {
	Seq    int64 // the store's number
	Tenant string
	RunID  string
	ID     string // the sender's identity of the message
	Event  machine.Event
}

// Timer is a row of `timers`.
type Timer struct {
	Tenant string
	RunID  string
	Key    string
	Due    machine.Time
	Cause  int64 // the number of the entry that led to it
}

// Reader looks. What is asked of a run that does not exist, or belongs to another tenant, is ErrNotFound.
type Reader interface {
	// State reads a run with its root's document, the child documents at the paths scopes (one that does not exist is Put as
	// nil), and all whose path begins with one of under ("": every one). *DamagedError when one of them cannot be read.
	State(ctx context.Context, tenant, runID string, scopes, under []string) (RunState, error)
	// Documents reads all documents of a run as they are stored, by path, the root's under "": for checks and repair. It reads
	// what State cannot.
	Documents(ctx context.Context, tenant, runID string) (map[string][]byte, error)
	// Payloads reads stored payloads; one that does not exist is absent.
	Payloads(ctx context.Context, tenant, runID string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error)
	// Tasks reads live tasks of a run, ordered by path: those at paths that exist; all for nil. One whose programs cannot be
	// read (ErrDamaged) comes without Env and Refs.
	Tasks(ctx context.Context, tenant, runID string, paths []string) ([]Live, error)
	// Timers reads the timers of a run, ordered by key.
	Timers(ctx context.Context, tenant, runID string) ([]Timer, error)
	// Journal reads entries after a number, in order, at most limit, and none after those that fill PageBytes: an empty answer
	// alone says that there are no more.
	Journal(ctx context.Context, tenant, runID string, after int64, limit int) ([]Entry, error)
	// Runs lists runs of a tenant, newest first: by id, descending. A stored error that cannot be read has the code
	// CodeDamaged.
	Runs(ctx context.Context, f Filter) ([]RunRow, error)
	// Letters lists dead letters of a tenant, newest first: by id, descending. A stored error that cannot be read has the
	// code CodeDamaged.
	Letters(ctx context.Context, f LetterFilter) ([]Letter, error)
	// Queues counts a tenant's live tasks lane by lane, ordered by queue, handler and workflow, in one query; a lane without a
	// live task is left out.
	Queues(ctx context.Context, tenant string) ([]Depth, error)
	// Processes lists the rows of processes by owner. One that died without Retire stays until its loss was noticed.
	Processes(ctx context.Context) ([]ProcessRow, error)
}

// PageBytes is how many bytes of payloads and facts fill a page of a journal, however few its entries are.
const PageBytes = 4 << 20

// Depth is how many live tasks lie in a lane.
type Depth struct {
	Lane
	Ready   int          // those that a claim would find: also Delayed ones that are due
	Delayed int          // those that are not due
	Leased  int          // those that are held under a token
	Held    int          // those that are OnHold
	Oldest  machine.Time // the earliest Task.ReadyAt of those that are Ready; zero: none is
}

// ProcessRow is a process as it last said that it lives.
type ProcessRow struct {
	Process
	BeatAt machine.Time
}

// Filter selects runs of a tenant. Other zero fields select everything.
type Filter struct {
	Tenant   string
	Workflow string
	Key      string
	Status   []machine.Status
	Labels   map[string]string // all of them, with these values
	IDSuffix string            // ending of the id as text, hyphens left out
	FailedAt string            // the step of the run's error
	Code     string            // the code of the run's error
	Since    machine.Time      // created then or later
	Until    machine.Time      // created before
	Before   string            // keyset: only ids before this one
	Limit    int               // 0: DefaultRows
}

// RunRow is a run in a list.
type RunRow struct {
	machine.Header
	Status       machine.Status
	StateVersion int64 // as in RunState.Version
	Seq          int64
	StartedAt    machine.Time
	FinishedAt   machine.Time
	Error        *machine.Error // as EndRun gave it; nil while the run goes on, and when it goes on again
}

// Letter is a dead letter: OpenLetter makes it, CloseLetter closes it, and it stays.
type Letter struct {
	ID        int64 // given by the database, rising
	Tenant    string
	RunID     string
	Workflow  string // of the run
	Kind      machine.LetterKind
	Path      string
	Error     *machine.Error
	State     machine.LetterState
	CreatedAt machine.Time // At of the settlement that opened it
	ClosedAt  machine.Time // At of the settlement that closed it; zero: it is open
}

// LetterFilter selects dead letters of a tenant. Other zero fields select everything.
type LetterFilter struct {
	Tenant   string
	RunID    string
	Workflow string
	Kind     machine.LetterKind
	Path     string
	State    machine.LetterState
	FailedAt string       // the step of the letter's error
	Code     string       // the code of the letter's error
	Since    machine.Time // opened then or later
	Until    machine.Time // opened before
	IDs      []int64      // these alone; not nil and empty: none
	Before   int64        // keyset: only ids before this one
	Limit    int          // 0: as many as IDs, or DefaultRows without
}

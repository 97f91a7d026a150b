// Package recall is what the engine knows of one run while the machine decides: its documents and payloads, read from the store
// as far as they are asked for.
//
// It imports machine and store.
package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// ErrDamaged says that what is stored of the run does not fit together; only that run is affected. It is store.ErrDamaged.
var ErrDamaged = fmt.Errorf("what is stored of the run does not fit together: %w", store.ErrDamaged)

// Memory gives the machine what it asks for: payloads and documents of one run, read from the store when they are not here.
type Memory struct {
	Source   Source
	Run      *machine.Run // never changed: replaced by a copy that knows more
	Version  int64        // that Run was read at; 0: it does not matter
	Payloads map[machine.Ref]json.RawMessage
	Unborn   bool // the run is not in the store yet

	kept []kept // belongs into Payloads, once somebody asks: nobody does of what is told last
}

type kept struct {
	ref machine.Ref
	raw json.RawMessage
}

// Source reads what is stored.
type Source interface {
	// Payloads is [store.Reader.Payloads].
	Payloads(ctx context.Context, tenant, run string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error)
	// Documents gives a run with the documents at these paths.
	Documents(ctx context.Context, tenant, run string, paths []string) (store.RunState, error)
}

// New gives a memory of a run as it was read at a version.
func New(from Source, run *machine.Run, version int64) Memory {
	return Memory{Source: from, Run: run, Version: version}
}

// Keep remembers a payload that is not in the store yet.
func (m *Memory) Keep(ref machine.Ref, raw json.RawMessage) { m.kept = append(m.kept, kept{ref, raw}) }

// Known gives the payloads that are known. They are the memory's: nobody changes them.
func (m *Memory) Known() map[machine.Ref]json.RawMessage {
	if len(m.kept) == 0 {
		return m.Payloads
	}
	if m.Payloads == nil {
		m.Payloads = make(map[machine.Ref]json.RawMessage, len(m.kept))
	}
	for _, k := range m.kept {
		m.Payloads[k.ref] = k.raw
	}
	m.kept = nil
	return m.Payloads
}

// Load gives a payload that is known.
func (m *Memory) Load(r machine.Ref) (json.RawMessage, bool) {
	raw, ok := m.Known()[r]
	return raw, ok
}

// ErrStale says that the run has changed since it was read.
var ErrStale = errors.New("the run has changed")

const maxNeeds = 10_000 // times that one decision may ask for more

// Satisfy calls decide until it needs nothing more.
func (m *Memory) Satisfy(ctx context.Context, decide func() error) error {
	for range maxNeeds {
		err := decide()
		var need *machine.Need
		if !errors.As(err, &need) {
			return err
		}
		if err := m.fetch(ctx, need); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: run %s: it asks for more without end", ErrDamaged, m.Run.ID)
}

// fetch loads what is needed. What is asked for again although it was loaded does not exist: the run is damaged.
func (m *Memory) fetch(ctx context.Context, need *machine.Need) error {
	if len(need.Refs) > 0 {
		if err := m.fetchPayloads(ctx, need.Refs); err != nil {
			return err
		}
	}
	if len(need.Scopes) > 0 {
		return m.fetchDocuments(ctx, need.Scopes)
	}
	return nil
}

func (m *Memory) fetchPayloads(ctx context.Context, refs []machine.Ref) error {
	got, err := m.Source.Payloads(ctx, m.Run.Tenant, m.Run.ID, refs)
	if err != nil {
		return gone(err)
	}
	known := m.Known()
	all := make(map[machine.Ref]json.RawMessage, len(known)+len(got))
	maps.Copy(all, known)
	for _, r := range refs {
		raw, ok := got[r]
		if !ok {
			return fmt.Errorf("%w: run %s: payload %s is missing", ErrDamaged, m.Run.ID, r)
		}
		all[r] = raw
	}
	m.Payloads = all
	return nil
}

func (m *Memory) fetchDocuments(ctx context.Context, paths []string) error {
	for _, path := range paths {
		if m.Run.Known(path) {
			return fmt.Errorf("%w: run %s: document %s is asked for again", ErrDamaged, m.Run.ID, path)
		}
	}
	found := machine.NewRun(m.Run.Header)
	if !m.Unborn {
		got, err := m.Source.Documents(ctx, m.Run.Tenant, m.Run.ID, paths)
		if err != nil {
			return gone(err)
		}
		if m.Version != 0 && got.Version != m.Version {
			return ErrStale
		}
		found = got.Run
	}
	m.Run = Merged(m.Run, found)
	m.Run = Merged(m.Run, absent(m.Run, paths))
	return nil
}

// absent gives a run that knows of these documents that they do not exist.
func absent(run *machine.Run, paths []string) *machine.Run {
	none := machine.NewRun(run.Header)
	for _, path := range paths {
		_ = none.Put(path, nil) // nothing is read that could be wrong
	}
	return none
}

// gone makes an error of what should exist and does not a damage.
func gone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// Saved gives a run as it lies in the store now, without the documents that do not exist.
func Saved(run *machine.Run) *machine.Run {
	if len(run.Scopes)+len(run.Chunks) == 0 && len(run.Changes()) == 0 {
		return run
	}
	c := run.Saved()
	c.Scopes, c.Chunks = maps.Clone(c.Scopes), maps.Clone(c.Chunks)
	maps.DeleteFunc(c.Scopes, func(_ string, s *machine.Scope) bool { return s == nil })
	maps.DeleteFunc(c.Chunks, func(_ string, s *machine.Chunk) bool { return s == nil })
	return c
}

// Merged gives run with the documents of other that it does not know. Both are at the same version.
func Merged(run, other *machine.Run) *machine.Run {
	if run == other {
		return run
	}
	c := *run
	c.Scopes = union(run.Scopes, other.Scopes)
	c.Chunks = union(run.Chunks, other.Chunks)
	return &c
}

func union[V any](a, b map[string]V) map[string]V {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	for k, v := range b {
		if _, ok := out[k]; !ok {
			out[k] = v
		}
	}
	return out
}

// Assemble gives a value that is spread over payloads.
func (m *Memory) Assemble(d machine.Data) (json.RawMessage, error) {
	return machine.Assemble(d, m.Run, m.Load, machine.MaxAssembled)
}

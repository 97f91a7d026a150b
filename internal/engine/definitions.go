package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/engine/internal/shelf"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// definition gives the definition of a run. What cannot be read is a damage of the runs that use it.
func (e *Engine) definition(ctx context.Context, h machine.Header) (*workflow.Definition, error) {
	def, _, err := e.resolve(ctx, h.Tenant, h.Workflow, h.Version)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: run %s: %w", errDamaged, h.ID, err)
	}
	return def, err
}

// resolve gives a version of a definition, the newest for 0, and its number.
func (e *Engine) resolve(ctx context.Context, tenant, name string, version int) (*workflow.Definition, int, error) {
	k := shelf.Key{Tenant: tenant, Name: name, Version: version}
	if def := e.defs.Find(k); def != nil && version > 0 {
		return def, version, nil
	}
	c, cancel := e.call(ctx)
	defer cancel()
	w, err := e.st.Workflow(c, tenant, name, version)
	if err := e.fault("read workflow "+name, err); err != nil {
		return nil, 0, err
	}
	k.Version = w.Version
	if def := e.defs.Find(k); def != nil {
		return def, w.Version, nil
	}
	def, err := workflow.Read(name, w.Doc)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: workflow %s version %d: %w", errDamaged, name, w.Version, err)
	}
	e.defs.Keep(k, def)
	return def, w.Version, nil
}

// Register stores a definition for a tenant, once for ever, and gives its version and whether it is new. Other content under
// a version that is taken is a *store.ConflictError.
func (e *Engine) Register(ctx context.Context, tenant string, def *workflow.Definition) (version int, created bool, err error) {
	c, cancel := e.call(ctx)
	defer cancel()
	version, created, err = e.st.Register(c, store.Workflow{
		Tenant: tenant, Name: def.Name, Version: def.Version, Hash: def.Hash(), Doc: def.Canonical(),
	})
	if err != nil {
		return 0, false, fmt.Errorf("register workflow %s: %w", def.Name, err)
	}
	e.defs.Keep(shelf.Key{Tenant: tenant, Name: def.Name, Version: version}, def)
	return version, created, nil
}

// source reads runs for their decisions, each call with its deadline.
type source struct{ engine *Engine }

// Payloads is [store.Reader.Payloads].
func (s source) Payloads(ctx context.Context, tenant, run string, refs []machine.Ref) (map[machine.Ref]json.RawMessage, error) {
	c, cancel := s.engine.call(ctx)
	defer cancel()
	got, err := s.engine.st.Payloads(c, tenant, run, refs)
	return got, s.engine.fault("read payloads", err)
}

const journalPage = 1_000 // entries that are read at once

// journal reads entries of a run after a number, at most limit or a page.
func (e *Engine) journal(ctx context.Context, run runKey, after, limit int64) ([]store.Entry, error) {
	c, cancel := e.call(ctx)
	defer cancel()
	entries, err := e.st.Journal(c, run.tenant, run.id, after, int(min(limit, journalPage)))
	return entries, e.fault("read journal", err)
}

// Documents gives a run with the documents at these paths.
func (s source) Documents(ctx context.Context, tenant, run string, paths []string) (store.RunState, error) {
	c, cancel := s.engine.call(ctx)
	defer cancel()
	got, err := s.engine.st.State(c, tenant, run, paths, nil)
	return got, s.engine.fault("read documents", err)
}

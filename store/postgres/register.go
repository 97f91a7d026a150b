package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/millrace-go/millrace/store"
)

const (
	// The newest version, and the one that is asked for: two rows of the primary key.
	versionsSQL = `(select version, hash from millrace.workflows where tenant = $1 and name = $2 order by version desc limit 1)
		union all (select version, hash from millrace.workflows where tenant = $1 and name = $2 and version = $3)`
	registerSQL = `insert into millrace.workflows (tenant, name, version, hash, doc, created_at)
		values ($1, $2, $3, $4, $5, millrace.clock()) on conflict (tenant, name, version) do nothing`
)

// Register is [store.Definitions.Register]. Who takes a version that somebody else takes at the same time looks again.
func (s *Store) Register(ctx context.Context, w store.Workflow) (int, bool, error) {
	if err := errors.Join(store.StorableText(w.Tenant), store.StorableText(w.Name)); err != nil {
		return 0, false, fmt.Errorf("register: %w", err)
	}
	for {
		version, done, err := s.registered(ctx, &w)
		if done || err != nil {
			return version, false, err
		}
		var n int64
		err = s.run(ctx, "register", func(p *pipeline) {
			p.Count(registerSQL, &n, w.Tenant, w.Name, version, w.Hash[:], orEmpty(w.Doc))
		})
		if n > 0 || err != nil {
			return version, n > 0, err
		}
	}
}

// registered gives the version that w has, or the one that it would get.
func (s *Store) registered(ctx context.Context, w *store.Workflow) (version int, done bool, err error) {
	var versions []int
	var same []bool
	err = s.run(ctx, "register", func(p *pipeline) {
		versions, same = nil, nil
		p.Each(versionsSQL, func(rows pgx.Rows) error {
			var v int
			var hash []byte
			err := rows.Scan(&v, &hash)
			versions, same = append(versions, v), append(same, string(hash) == string(w.Hash[:]))
			return err
		}, w.Tenant, w.Name, w.Version)
	})
	switch {
	case err != nil:
		return 0, false, err
	case len(versions) == 0:
		return max(w.Version, 1), false, nil
	case w.Version == 0 && same[0]:
		return versions[0], true, nil
	case w.Version == 0:
		return versions[0] + 1, false, nil
	case len(versions) == 1: // the newest alone
		return w.Version, false, nil
	case !same[1]:
		return 0, true, &store.ConflictError{What: "workflow", Name: w.Name, Free: versions[0] + 1}
	}
	return w.Version, true, nil
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

const workflowColumns = "tenant, name, version, hash, doc, created_at"

func seeWorkflow(out *[]store.Workflow) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var w store.Workflow
		var hash []byte
		err := rows.Scan(&w.Tenant, &w.Name, &w.Version, &hash, &w.Doc, (*int64)(&w.CreatedAt))
		copy(w.Hash[:], hash)
		*out = append(*out, w)
		return err
	}
}

// Workflow is [store.Definitions.Workflow].
func (s *Store) Workflow(ctx context.Context, tenant, name string, version int) (store.Workflow, error) {
	missing := fmt.Errorf("workflow %s version %d: %w", name, version, store.ErrNotFound)
	if unstorable(tenant) || unstorable(name) || version > maxInt32 {
		return store.Workflow{}, missing
	}
	var out []store.Workflow
	err := s.run(ctx, "workflow", func(p *pipeline) {
		out = nil
		p.Each("select "+workflowColumns+` from millrace.workflows where tenant = $1 and name = $2 and ($3::int = 0 or version = $3)
			order by version desc limit 1`, seeWorkflow(&out), tenant, name, version)
	})
	switch {
	case err != nil:
		return store.Workflow{}, err
	case len(out) == 0:
		return store.Workflow{}, missing
	}
	return out[0], nil
}

const maxInt32 = 1<<31 - 1

// Workflows is [store.Definitions.Workflows].
func (s *Store) Workflows(ctx context.Context, tenant string) (out []store.Workflow, err error) {
	if unstorable(tenant) {
		return nil, nil
	}
	err = s.run(ctx, "workflows", func(p *pipeline) {
		out = nil
		p.Each("select distinct on (name) "+workflowColumns+` from millrace.workflows where tenant = $1
			order by name, version desc`, seeWorkflow(&out), tenant)
	})
	return out, err
}

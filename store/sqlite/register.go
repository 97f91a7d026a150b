package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// Register is [store.Definitions.Register].
func (s *Store) Register(ctx context.Context, w store.Workflow) (version int, created bool, err error) {
	if err := errors.Join(store.StorableText(w.Tenant), store.StorableText(w.Name)); err != nil {
		return 0, false, fmt.Errorf("register: %w", err)
	}
	err = s.write(ctx, "register", func(c *conn) error {
		version, created, err = s.register(c, w)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return version, created, nil
}

func (s *Store) register(c *conn, w store.Workflow) (version int, created bool, err error) {
	free, same := 1, 0
	_, err = c.One("select version, hash from workflows where tenant = ? and name = ? order by version desc limit 1",
		func(r *row) error {
			free = r.ColumnInt(0) + 1
			if [32]byte(link.BytesAt(r, 1)) == w.Hash {
				same = r.ColumnInt(0)
			}
			return nil
		}, w.Tenant, w.Name)
	if err != nil {
		return 0, false, err
	}
	if w.Version == 0 && same > 0 {
		return same, false, nil
	}
	if w.Version == 0 {
		w.Version = free
	}
	var equal bool
	found, err := c.One("select hash from workflows where tenant = ? and name = ? and version = ?", func(r *row) error {
		equal = [32]byte(link.BytesAt(r, 0)) == w.Hash
		return nil
	}, w.Tenant, w.Name, w.Version)
	switch {
	case err != nil:
		return 0, false, err
	case found && !equal:
		return 0, false, &store.ConflictError{What: "workflow", Name: w.Name, Free: free}
	case found:
		return w.Version, false, nil
	}
	_, err = c.Exec("insert into workflows values (?, ?, ?, ?, ?, ?)", w.Tenant, w.Name, w.Version, w.Hash, orEmpty(w.Doc),
		s.o.Clock())
	return w.Version, true, err
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Workflow is [store.Definitions.Workflow].
func (s *Store) Workflow(ctx context.Context, tenant, name string, version int) (w store.Workflow, err error) {
	err = s.read(ctx, "workflow", func(c *conn) error {
		found, err := c.One("select "+link.WorkflowColumns+` from workflows where tenant = ? and name = ? and (? = 0 or version = ?)
			order by version desc limit 1`, func(r *row) error {
			w = link.WorkflowAt(r)
			return nil
		}, tenant, name, version, version)
		if err == nil && !found {
			err = fmt.Errorf("workflow %s version %d: %w", name, version, store.ErrNotFound)
		}
		return err
	})
	return w, err
}

// Workflows is [store.Definitions.Workflows].
func (s *Store) Workflows(ctx context.Context, tenant string) (out []store.Workflow, err error) {
	err = s.read(ctx, "workflows", func(c *conn) error {
		return c.Each("select "+link.WorkflowColumns+` from workflows as w where tenant = ? and version =
			(select max(version) from workflows where tenant = w.tenant and name = w.name) order by name`, func(r *row) error {
			out = append(out, link.WorkflowAt(r))
			return nil
		}, tenant)
	})
	return out, err
}

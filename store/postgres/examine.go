package postgres

import (
	"context"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/schema"
)

// Examine tells how the tables of the database that url names stand, without changing them: Open with Options.Migrate brings
// them up. A schema that is not there is empty. The error is one of Open's.
func Examine(ctx context.Context, url string, o Options) (store.Schema, error) {
	s := newStore(o)
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	version, err := s.examine(ctx, url)
	if err != nil {
		return store.Schema{}, s.faultOpening(ctx, "look at "+s.place, err)
	}
	return store.Schema{Version: version, Newest: schema.Newest(), Missing: schema.Missing(version)}, nil
}

func (s *Store) examine(ctx context.Context, url string) (int, error) {
	if err := s.connect(ctx, url); err != nil {
		return 0, err
	}
	defer s.pool.Close()
	return s.tables.Version(ctx, s.pool)
}

package sqlite

import (
	"context"

	"github.com/millrace-go/millrace/store/sqlite/internal/link"
)

// forgetStatistics removes what ANALYZE left in the file, and gives the connection to go on with. With statistics SQLite looks
// at what is bound to a statement and plans it anew each time, which costs more than carrying it out; and no statement here
// needs them.
func (s *Store) forgetStatistics(ctx context.Context, c *conn) (*conn, error) {
	tables, err := link.Statistics(c)
	if err != nil || len(tables) == 0 {
		return c, err
	}
	if err := s.dropStatistics(ctx, c); err != nil {
		return c, err
	}
	again, err := s.connect(ctx) // a connection keeps what it has read
	if err != nil {
		return c, err
	}
	return again, c.DB.Close()
}

func (s *Store) dropStatistics(ctx context.Context, c *conn) error {
	if err := s.begin(ctx, c); err != nil {
		return err
	}
	defer c.Rollback()
	tables, err := link.Statistics(c) // another process may have been first
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := c.Do("drop table " + table); err != nil {
			return err
		}
	}
	return c.Do("commit")
}

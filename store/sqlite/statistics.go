package sqlite

import "context"

// forgetStatistics removes what ANALYZE left in the file, and gives the connection to go on with. With statistics SQLite looks
// at what is bound to a statement and plans it anew each time, which costs more than carrying it out; and no statement here
// needs them.
func (s *Store) forgetStatistics(ctx context.Context, c *conn) (*conn, error) {
	tables, err := statistics(c)
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
	tables, err := statistics(c) // another process may have been first
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

// statistics names the tables that hold what ANALYZE found.
func statistics(c *conn) (tables []string, err error) {
	err = c.Each("select name from sqlite_schema where type = 'table' and name glob 'sqlite_stat[0-9]'", func(r *row) error {
		tables = append(tables, r.ColumnText(0))
		return nil
	})
	return tables, err
}

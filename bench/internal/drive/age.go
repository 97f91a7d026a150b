package drive

import (
	"context"
	"errors"
)

// Age fills a fresh database with n runs of a shape that have ended: one that an engine has executed, and copies of it.
func Age(ctx context.Context, db Database, shape Shape, n int) error {
	b, err := Open(ctx, db, shape)
	if err != nil {
		return err
	}
	if err = b.Start(ctx, 1); err == nil {
		_, err = b.Drive(ctx, 1, nil)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	return db.Copy(ctx, n)
}

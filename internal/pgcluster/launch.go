package pgcluster

import (
	"context"
	"errors"
)

// Launch makes a cluster for a program that is no test. The caller closes it.
func Launch(ctx context.Context, o Options) (*Cluster, error) { return launch(ctx, o) }

// Close ends the server and removes its folder.
func (c *Cluster) Close() error { return errors.Join(c.Stop(Immediate), c.guard.Close(), c.release()) }

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/bench/internal/ceiling"
	"github.com/millrace-go/millrace/bench/internal/drive"
	"github.com/millrace-go/millrace/internal/pgcluster"
)

// place is where the fresh databases of one measurement are made.
type place struct {
	folder  string
	cluster *pgcluster.Cluster // nil: files of SQLite in the folder
	number  int
}

// loops is how many loops of the ceiling work side by side on PostgreSQL.
const loops = 3

func newPlace(o options, cluster *pgcluster.Cluster) (*place, error) {
	folder, err := os.MkdirTemp(o.folder, "workloads-")
	return &place{folder: folder, cluster: cluster}, err
}

func (p *place) name(n int) string { return fmt.Sprintf("bench_%d", n) }

// fresh makes a name of a database that is not there: of PostgreSQL, it is made.
func (p *place) fresh(ctx context.Context) (name string, err error) {
	p.number++
	if p.cluster == nil {
		return filepath.Join(p.folder, p.name(p.number)), nil
	}
	return p.cluster.URL(p.name(p.number)), p.cluster.Exec(ctx, "postgres", "create database "+p.name(p.number))
}

// database gives a fresh database.
func (p *place) database(ctx context.Context) (drive.Database, error) {
	name, err := p.fresh(ctx)
	if p.cluster == nil {
		return drive.SQLite(name), err
	}
	return drive.Postgres(name), err
}

// ceiling measures what the storage plan writes.
func (p *place) ceiling(ctx context.Context, l ceiling.Load) (f ceiling.Figure, err error) {
	name, err := p.fresh(ctx)
	if err != nil {
		return f, err
	}
	if p.cluster == nil {
		return ceiling.Measure(ctx, name, l)
	}
	starts, err := ceiling.Prepare(ctx, name, l)
	if err != nil {
		return f, err
	}
	f, err = ceiling.Finish(ctx, name, l, loops)
	f.Starts = starts
	return f, err
}

// clear removes what was made.
func (p *place) clear(ctx context.Context) error {
	err := os.RemoveAll(p.folder)
	if p.cluster == nil {
		return err
	}
	for n := 1; n <= p.number; n++ {
		err = errors.Join(err, p.cluster.Exec(ctx, "postgres", "drop database if exists "+p.name(n)+" with (force)"))
	}
	return err
}

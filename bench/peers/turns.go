package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/bench/internal/limits"
	"github.com/millrace-go/millrace/internal/pgcluster"
)

// clusterSettings are those of the cluster that all systems get; durability is as it comes.
var clusterSettings = map[string]string{
	"shared_buffers":           "2GB",
	"max_wal_size":             "8GB",
	"checkpoint_timeout":       "15min",
	"shared_preload_libraries": "pg_stat_statements",
	"pg_stat_statements.max":   "10000",
	"pg_stat_statements.save":  "off",
}

// turns measures each workload with each system, one after the other, again and again.
type turns struct {
	options
	folder  string
	cluster *pgcluster.Cluster // nil: only files
	lines   io.Writer
	talk    io.Writer
	self    string
	number  int
	results results
}

// measure makes a cluster, measures, and takes the cluster away.
func (o options) measure(ctx context.Context, messages io.Writer) (r results, err error) {
	folder, err := os.MkdirTemp(o.folder, "peers-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := &turns{options: o, folder: folder, lines: io.Discard, talk: messages}
	if t.self, err = os.Executable(); err != nil {
		return r, err
	}
	if o.lines != "" {
		f, err := os.Create(o.lines)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		t.lines = f
	}
	if o.store != file {
		if t.cluster, err = t.launch(ctx); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, t.cluster.Close()) }()
	}
	err = t.all(ctx)
	return t.results, err
}

// launch makes the cluster in the folder.
func (t *turns) launch(ctx context.Context) (*pgcluster.Cluster, error) {
	if t.options.folder != "" {
		if err := os.Setenv("TMPDIR", t.options.folder); err != nil {
			return nil, err
		}
	}
	c, err := pgcluster.Launch(ctx, pgcluster.Options{Settings: clusterSettings})
	if err != nil {
		return nil, err
	}
	return c, c.Exec(ctx, "postgres", "create extension pg_stat_statements")
}

// all measures everything. What fails is told at once and in the end, and does not keep the others from being measured.
func (t *turns) all(ctx context.Context) error {
	if err := t.machine(ctx); err != nil {
		return err
	}
	var failed error
	for turn := range t.repeat {
		for _, w := range workloads {
			for _, s := range systems {
				if !t.wants(w, s) {
					continue
				}
				err := t.one(ctx, turn, w, s)
				if ctx.Err() != nil {
					return errors.Join(failed, ctx.Err())
				}
				if err != nil {
					err = fmt.Errorf("%s of %s on %s: %w", w.name, s.name, s.store, err)
					fmt.Fprintln(t.talk, err)
					failed = errors.Join(failed, err)
				}
			}
		}
	}
	return failed
}

// machine measures what the machine gives, and says what it is.
func (t *turns) machine(ctx context.Context) error {
	about, err := describe(ctx, t.cluster)
	if err != nil {
		return err
	}
	if err := t.note(line{About: about}); err != nil {
		return err
	}
	for turn := range t.repeat {
		disk, err := limits.Disk(t.folder)
		if err != nil {
			return err
		}
		found := []limits.Limit{disk}
		if t.cluster != nil {
			err := t.onDatabase(ctx, func(name string) error {
				more, err := limits.Server(ctx, t.cluster.URL(name), 2*time.Second)
				found = append(found, more...)
				return err
			})
			if err != nil {
				return err
			}
		}
		for _, l := range found {
			if err := t.note(line{Workload: "machine", Turn: turn, figure: figure{l.Name, l.Value, l.Unit}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// onDatabase makes a database of the cluster, and drops it in the end.
func (t *turns) onDatabase(ctx context.Context, do func(name string) error) error {
	t.number++
	name := fmt.Sprintf("bench_%d", t.number)
	if err := t.cluster.Exec(ctx, "postgres", "create database "+name, "checkpoint"); err != nil {
		return err
	}
	err := do(name)
	return errors.Join(err, t.cluster.Exec(context.WithoutCancel(ctx), "postgres", "drop database "+name+" with (force)"))
}

// one measures one workload with one system, between two measurements of the workload that it is compared with.
func (t *turns) one(ctx context.Context, turn int, w workload, s system) error {
	if w.beside == "" {
		return t.alone(ctx, turn, w.name, w, s)
	}
	other := workloadOf(w.beside)
	return errors.Join(
		t.alone(ctx, turn, w.neighbour(), other, s),
		t.alone(ctx, turn, w.name, w, s),
		t.alone(ctx, turn, w.neighbour(), other, s))
}

// alone measures one workload with one system, and notes the figures under a name.
func (t *turns) alone(ctx context.Context, turn int, name string, w workload, s system) error {
	r := request{System: s.name, Store: s.store, Workload: w.name, Target: target{Knobs: s.knobs}}
	r.Runs, r.Flood = w.runs*t.scale/100, 0
	if w.many {
		r.Runs = t.backlog * t.scale / 100
	}
	if w.name != "W4" && w.name != "W9" {
		r.Runs = r.Runs * s.share / 100
	}
	r.Runs = max(r.Runs, 20)
	if w.ended {
		r.Ended = t.ended * t.scale / 100
	}
	if w.flood > 0 {
		r.Flood = t.flood * s.share / 100 // not of another scale: it must last
	}
	if s.store == file {
		folder, err := os.MkdirTemp(t.folder, "file-")
		if err != nil {
			return err
		}
		r.Target.Path = filepath.Join(folder, "bench.db")
		return errors.Join(t.send(ctx, turn, name, r), os.RemoveAll(folder))
	}
	return t.onDatabase(ctx, func(database string) error {
		r.Target.URL = t.cluster.URL(database)
		r.Server = server{URL: t.cluster.URL("postgres"), PID: t.cluster.PID(), Database: database, Counts: true}
		return t.send(ctx, turn, name, r)
	})
}

// send has a process of its own measure, and notes what it found under a name.
func (t *turns) send(ctx context.Context, turn int, name string, r request) error {
	in, err := json.Marshal(r)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, t.self, child) //nolint:gosec // this program itself
	cmd.Env = append(os.Environ(), "GOGC=400")
	cmd.Stdin = bytes.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	var figures []figure
	if err := json.Unmarshal(text, &figures); err != nil {
		return err
	}
	for _, f := range figures {
		if err := t.note(line{System: r.System, Store: r.Store, Workload: name, Turn: turn, Runs: r.Runs, figure: f}); err != nil {
			return err
		}
	}
	if len(figures) > 0 {
		fmt.Fprintf(t.talk, "%-20s %-12s %-8s %8d runs  %10.4g %s  (%.0f s in all)\n", name, r.System, r.Store, r.Runs,
			figures[0].Value, figures[0].Unit, time.Since(began).Seconds())
	}
	return nil
}

// note writes a line and keeps it.
func (t *turns) note(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	t.results.add(l)
	_, err = fmt.Fprintln(t.lines, string(text))
	return err
}

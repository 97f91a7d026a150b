package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// counters is what a measurement has cost until now.
type counters struct {
	statements, commits, wal int64
	client, server           time.Duration
}

// server is the cluster that counters are read from.
type server struct {
	URL      string // of another database than the measured one
	PID      int    // of its first process; 0: not on this machine
	Database string // the measured one
	Counts   bool   // pg_stat_statements is loaded
}

// read reads the counters of this process, and those of the server if there is one. The sessions of the measured database have
// ended before: what they did is then accounted for.
func (s server) read(ctx context.Context) (c counters, err error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return c, err
	}
	c.client = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if s.URL == "" {
		return c, nil
	}
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := s.alone(ctx, conn); err != nil {
		return c, err
	}
	const query = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, xact_commit from pg_stat_database where datname = $1"
	if err := conn.QueryRow(ctx, query, s.Database).Scan(&c.wal, &c.commits); err != nil {
		return c, err
	}
	if s.Counts {
		const query = `select coalesce(sum(calls), 0)::bigint from pg_stat_statements s join pg_database d on d.oid = s.dbid
where d.datname = $1`
		if err := conn.QueryRow(ctx, query, s.Database).Scan(&c.statements); err != nil {
			return c, err
		}
	}
	c.server = familyTime(s.PID)
	return c, nil
}

// alone waits until nobody is connected to the measured database.
func (s server) alone(ctx context.Context, conn *pgx.Conn) error {
	for range 500 {
		var n int
		const query = "select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'"
		if err := conn.QueryRow(ctx, query, s.Database).Scan(&n); err != nil || n == 0 {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("somebody is still connected to %s", s.Database)
}

// since gives what was spent after another reading, for each of so many steps.
func (c counters) since(before counters, steps int, s server) []figure {
	each := func(n float64) float64 { return n / float64(steps) }
	out := []figure{{"CPU of a step, client", each(float64((c.client - before.client).Microseconds())) / 1000, "ms"}}
	if s.URL == "" {
		return out
	}
	out = append(out, figure{"commits of a step", each(float64(c.commits - before.commits)), ""},
		figure{"WAL of a step", each(float64(c.wal - before.wal)), "bytes"})
	if s.Counts {
		out = append(out, figure{"statements of a step", each(float64(c.statements - before.statements)), ""})
	}
	if s.PID != 0 {
		all := c.client - before.client + c.server - before.server
		out = append(out, figure{"CPU of a step, all", each(float64(all.Microseconds())) / 1000, "ms"})
	}
	return out
}

// clockTick is the unit of times in /proc.
const clockTick = 10 * time.Millisecond

// familyTime gives the time on processors of a process, of its children that live, and of those that have ended.
func familyTime(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	sum := 0
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		id, parent, own, children := parseStat(string(text))
		switch pid {
		case id:
			sum += own + children
		case parent:
			sum += own
		}
	}
	return time.Duration(sum) * clockTick
}

// parseStat reads a line of /proc/PID/stat; see proc(5).
func parseStat(line string) (pid, parent, own, children int) {
	head, rest, ok := strings.Cut(line, " (")
	if i := strings.LastIndex(rest, ") "); ok && i >= 0 {
		rest = rest[i+2:]
	}
	f := strings.Fields(rest)
	if len(f) < 15 {
		return 0, 0, 0, 0
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0
		}
		return n
	}
	return number(head), number(f[1]), number(f[11]) + number(f[12]), number(f[13]) + number(f[14])
}

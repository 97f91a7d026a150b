package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// figure is one number of one measurement.
type figure struct {
	Name  string  `json:"figure"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// request asks a process of its own for one measurement: what a system has left in memory, and what it has spent, is its own.
type request struct {
	System, Store, Workload string
	Target                  target
	Server                  server
	Runs, Ended, Flood      int
}

// longest is how long one measurement may take.
const longest = 15 * time.Minute

// answer carries out a request that stands on in, and writes the figures to out.
func answer(ctx context.Context, in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return err
	}
	sys, ok := find(r.System, r.Store)
	if !ok {
		return fmt.Errorf("there is no system %q on %s", r.System, r.Store)
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	figures, err := r.measure(ctx, sys.make(r.Target))
	if errors.Is(err, errCannot) {
		figures, err = []figure{}, nil
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(figures)
}

func (r request) measure(ctx context.Context, s subject) ([]figure, error) {
	w := workloadOf(r.Workload)
	if err := s.prepare(ctx, r.Ended); err != nil {
		return nil, err
	}
	switch r.Workload {
	case "W4":
		return r.latency(ctx, s)
	case "W7":
		return r.starts(ctx, s)
	case "W9":
		return r.fairness(ctx, s)
	}
	return r.backlog(ctx, s, w.shape)
}

func (r request) backlog(ctx context.Context, s subject, sh shape) ([]figure, error) {
	if err := s.load(ctx, sh, r.Runs); err != nil {
		return nil, err
	}
	if err := r.Target.analyze(ctx); err != nil {
		return nil, err
	}
	before, err := r.Server.read(ctx)
	if err != nil {
		return nil, err
	}
	took, err := s.drive(ctx, sh, r.Runs)
	if err != nil {
		return nil, err
	}
	after, err := r.Server.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.verify(ctx, sh, r.Runs, r.Ended); err != nil {
		return nil, err
	}
	steps := r.Runs * sh.steps()
	rates := []figure{{"runs", float64(r.Runs) / took.Seconds(), "/s"}, {"steps", float64(steps) / took.Seconds(), "/s"}}
	return append(rates, after.since(before, steps, r.Server)...), nil
}

func (r request) latency(ctx context.Context, s subject) (out []figure, err error) {
	for _, sh := range []shape{one, five} {
		times, err := s.oneByOne(ctx, sh, r.Runs)
		if err != nil {
			return out, err
		}
		out = append(out, percentiles(fmt.Sprintf("%d steps, ", sh.n), times)...)
	}
	return out, nil
}

func percentiles(prefix string, times []time.Duration) (out []figure) {
	slices.Sort(times)
	for _, p := range []int{50, 95, 99} {
		at := times[min(len(times)*p/100, len(times)-1)]
		out = append(out, figure{fmt.Sprintf("%sp%d", prefix, p), float64(at.Microseconds()) / 1000, "ms"})
	}
	return out
}

func (r request) starts(ctx context.Context, s subject) (out []figure, err error) {
	for _, c := range []struct {
		name          string
		callers, runs int
	}{{"1 caller", 1, r.Runs / 10}, {"8 callers", 8, r.Runs / 2}, {"bulk of 500", 0, r.Runs}} {
		took, err := s.starts(ctx, c.callers, c.runs)
		if errors.Is(err, errCannot) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, figure{c.name, float64(c.runs) / took.Seconds(), "/s"})
	}
	return out, nil
}

func (r request) fairness(ctx context.Context, s subject) (out []figure, err error) {
	for _, c := range []struct {
		name  string
		flood int
	}{{"idle, ", 0}, {"flooded, ", r.Flood}} {
		times, err := s.probes(ctx, c.flood, r.Runs)
		if err != nil {
			return nil, err
		}
		out = append(out, percentiles(c.name, times)...)
	}
	return out, nil
}

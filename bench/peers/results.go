package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// line is one figure of one measurement, or what was measured with which settings.
type line struct {
	About    []string `json:"about,omitempty"`
	System   string   `json:"system,omitempty"`
	Store    string   `json:"store,omitempty"`
	Workload string   `json:"workload,omitempty"`
	Turn     int      `json:"turn"`
	Runs     int      `json:"runs,omitempty"`
	figure
}

// results are the lines of a measurement.
type results struct {
	about []string
	lines []line
}

func (r *results) add(l line) {
	if l.About != nil {
		r.about = l.About
		return
	}
	r.lines = append(r.lines, l)
}

func readResults(name string) (r results, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text := bufio.NewScanner(f)
	for n := 1; text.Scan(); n++ {
		var l line
		if err := json.Unmarshal(text.Bytes(), &l); err != nil {
			return r, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		r.add(l)
	}
	return r, text.Err()
}

// spread is a median with its range.
type spread struct {
	median, low, high float64
	unit              string
	times             int
}

// of gives the spread of a figure; times is 0 if it was not measured.
func (r *results) of(workload, system, store, name string) spread {
	var values []float64
	var s spread
	for _, l := range r.lines {
		if l.Workload == workload && l.System == system && l.Store == store && l.Name == name {
			values, s.unit = append(values, l.Value), l.Unit
		}
	}
	return s.over(values)
}

// over fills in the values, which are put in order.
func (s spread) over(values []float64) spread {
	slices.Sort(values)
	n := len(values)
	if s.times = n; n > 0 {
		s.median, s.low, s.high = (values[(n-1)/2]+values[n/2])/2, values[0], values[n-1]
	}
	return s
}

// ratio gives the spread of the ratios of two figures within one turn.
func (r *results) ratio(top, bottom func(turn int) spread) spread {
	var values []float64
	for turn := range 100 {
		a, b := top(turn), bottom(turn)
		if a.times > 0 && b.times > 0 && b.median > 0 {
			values = append(values, a.median/b.median)
		}
	}
	return spread{}.over(values)
}

// turn gives only the lines of one turn.
func (r *results) turn(n int) *results {
	out := results{about: r.about}
	for _, l := range r.lines {
		if l.Turn == n {
			out.lines = append(out.lines, l)
		}
	}
	return &out
}

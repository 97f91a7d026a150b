package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// row is one line of a table: a figure of a workload.
type row struct {
	title, workload, figure string
	perStep                 bool
}

var rowsOfTable = []row{
	{"W1, runs/s", "W1", "runs", false},
	{"W2, steps/s", "W2", "steps", false},
	{"W3, steps/s", "W3", "steps", false},
	{"W4, 1 step, p50 ms", "W4", "1 steps, p50", false},
	{"W4, 1 step, p99 ms", "W4", "1 steps, p99", false},
	{"W4, 5 steps, p50 ms", "W4", "5 steps, p50", false},
	{"W4, 5 steps, p99 ms", "W4", "5 steps, p99", false},
	{"W5, many ended, runs/s", "W5 ended", "runs", false},
	{"W5, a long backlog, runs/s", "W5 backlog", "runs", false},
	{"W5, both, runs/s", "W5 both", "runs", false},
	{"W6, runs/s", "W6", "runs", false},
	{"W7, 1 caller, runs/s", "W7", "1 caller", false},
	{"W7, 8 callers, runs/s", "W7", "8 callers", false},
	{"W7, bulk of 500, runs/s", "W7", "bulk of 500", false},
	{"W9, idle, p50 ms", "W9", "idle, p50", false},
	{"W9, flooded, p50 ms", "W9", "flooded, p50", false},
	{"W9, flooded, p99 ms", "W9", "flooded, p99", false},
	{"W1, statements", "W1", "statements of a step", true},
	{"W1, commits", "W1", "commits of a step", true},
	{"W1, WAL bytes", "W1", "WAL of a step", true},
	{"W1, CPU ms, all", "W1", "CPU of a step, all", true},
	{"W1, CPU ms, client", "W1", "CPU of a step, client", true},
	{"W2, statements", "W2", "statements of a step", true},
	{"W2, commits", "W2", "commits of a step", true},
	{"W2, WAL bytes", "W2", "WAL of a step", true},
	{"W2, CPU ms, all", "W2", "CPU of a step, all", true},
	{"W2, CPU ms, client", "W2", "CPU of a step, client", true},
	{"W3, statements", "W3", "statements of a step", true},
	{"W3, WAL bytes", "W3", "WAL of a step", true},
	{"W3, CPU ms, all", "W3", "CPU of a step, all", true},
}

// writeTable writes all medians as Markdown: one table of each store, one of what a step costs, one of ratios.
func (r results) writeTable(out io.Writer) error {
	var b strings.Builder
	for _, a := range r.about {
		fmt.Fprintf(&b, "- %s\n", a)
	}
	r.machineTable(&b)
	for _, store := range []string{postgres, file} {
		r.storeTable(&b, store, false, "On "+store)
		r.storeTable(&b, store, true, "Of one step, on "+store)
	}
	r.ratioTable(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// Where the table stands in a page.
const (
	pageBegin = "<!-- bench-peers -->"
	pageEnd   = "<!-- /bench-peers -->"
)

// writePage puts the table in its place in a page.
func (r results) writePage(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(text), pageBegin)
	_, tail, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: %s and %s", name, pageBegin, pageEnd)
	}
	var table strings.Builder
	if err := r.writeTable(&table); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(head+pageBegin+"\n\n"+table.String()+"\n"+pageEnd+tail), 0o644)
}

func (r results) machineTable(b *strings.Builder) {
	b.WriteString("\n| the machine | median | range | |\n|---|---|---|---|\n")
	seen := map[string]bool{}
	for _, l := range r.lines {
		if l.Workload != "machine" || seen[l.Name] {
			continue
		}
		seen[l.Name] = true
		s := r.of("machine", "", "", l.Name)
		fmt.Fprintf(b, "| %s | %s | %s to %s | %s |\n", l.Name, number(s.median), number(s.low), number(s.high), s.unit)
	}
}

// present gives the systems of a store that were measured.
func (r *results) present(store string) (out []system) {
	for _, s := range systems {
		for _, l := range r.lines {
			if l.System == s.name && l.Store == store && s.store == store {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

func (r *results) storeTable(b *strings.Builder, store string, perStep bool, title string) {
	columns := r.present(store)
	if len(columns) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s |", title)
	for _, s := range columns {
		fmt.Fprintf(b, " %s |", s.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, line := range rowsOfTable {
		if line.perStep != perStep {
			continue
		}
		text, measured := "", false
		for _, s := range columns {
			v := r.of(line.workload, s.name, store, line.figure)
			if v.times == 0 {
				text += " - |"
				continue
			}
			measured = true
			text += fmt.Sprintf(" %s |", v)
		}
		if measured {
			fmt.Fprintf(b, "| %s |%s\n", line.title, text)
		}
	}
}

// String gives the median, and the range where it is wide enough to matter.
func (s spread) String() string {
	if s.times > 1 && s.high-s.low > s.median/10 {
		return fmt.Sprintf("%s (%s-%s)", number(s.median), number(s.low), number(s.high))
	}
	return number(s.median)
}

// number writes a value with three digits that count, and thousands apart.
func number(v float64) string {
	if v < 1000 {
		return strings.TrimSuffix(fmt.Sprintf("%.3g", v), ".0")
	}
	n := int(v)
	for unit := 1; ; unit *= 10 {
		if n/unit < 1000 {
			n = (n + unit/2) / unit * unit
			break
		}
	}
	if n >= 1_000_000 {
		return fmt.Sprintf("%d,%03d,%03d", n/1_000_000, n/1000%1000, n%1000)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// quotient is a ratio that a target speaks of.
type quotient struct {
	title, workload, figure string
	to                      string // a system; "": the best peer
	toNeighbour             bool   // to the workload measured beside it, instead of a system
}

var quotients = []quotient{
	{title: "W1 to the best peer", workload: "W1", figure: "runs"},
	{title: "W1 to its ceiling", workload: "W1", figure: "runs", to: "ceiling"},
	{title: "W2 to the best peer", workload: "W2", figure: "steps"},
	{title: "W2 to its ceiling", workload: "W2", figure: "steps", to: "ceiling"},
	{title: "W3 to the best peer", workload: "W3", figure: "steps"},
	{title: "W5 with ended runs to W1", workload: "W5 ended", figure: "runs", toNeighbour: true},
	{title: "W5 with a backlog to W1", workload: "W5 backlog", figure: "runs", toNeighbour: true},
	{title: "W5 with both to W1", workload: "W5 both", figure: "runs", toNeighbour: true},
	{title: "W6 to the best peer", workload: "W6", figure: "runs"},
	{title: "W7 in bulk to the ceiling", workload: "W7", figure: "bulk of 500", to: "ceiling"},
}

const subjectName = "millrace"

func (r *results) ratioTable(b *strings.Builder) {
	b.WriteString("\n| Millrace | postgres | sqlite |\n|---|---|---|\n")
	for _, q := range quotients {
		var cells []string
		for _, store := range []string{postgres, file} {
			s := r.quotient(q, store)
			if s.times == 0 {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, s.String())
		}
		if strings.Join(cells, "") != "--" {
			fmt.Fprintf(b, "| %s | %s | %s |\n", q.title, cells[0], cells[1])
		}
	}
}

// quotient compares within one turn.
func (r *results) quotient(q quotient, store string) spread {
	own := func(turn int) spread { return r.turn(turn).of(q.workload, subjectName, store, q.figure) }
	other := func(turn int) spread {
		t := r.turn(turn)
		switch {
		case q.toNeighbour:
			return t.of(workloadOf(q.workload).neighbour(), subjectName, store, q.figure)
		case q.to != "":
			return t.of(q.workload, q.to, store, q.figure)
		}
		var best spread
		for _, s := range t.present(store) {
			if v := t.of(q.workload, s.name, store, q.figure); s.name != subjectName && s.name != "ceiling" && v.median > best.median {
				best = v
			}
		}
		return best
	}
	return r.ratio(own, other)
}

package main

import "slices"

// Names of stores.
const (
	postgres = "postgres"
	file     = "sqlite"
)

// system is something to measure, with the settings that its documentation, or a sweep on this kind of machine, gives as best.
type system struct {
	name  string
	store string
	make  func(target) subject
	knobs knobs
	share int // of the runs that a workload has, in per cent: slow ones would take hours, and rates need no more
}

var systems = []system{
	{"millrace", postgres, millraceOn(onServer), knobs{"slots": 1000, "slots_w9": 64}, 100},
	{"ceiling", postgres, onCeiling, knobs{"batch": 300, "loops": 3}, 100},
	{"river", postgres, onPostgres(false), knobs{"conns": 16, "workers": 2000, "cooldown_ms": 2, "poll_ms": 20}, 100},
	{"river in tx", postgres, onPostgres(true), knobs{"conns": 16, "workers": 32, "cooldown_ms": 2, "poll_ms": 20}, 25},
	{"dbos", postgres, dbosOn(false), knobs{"callers": 64, "workers": 64, "poll_ms": 1000}, 25},
	{"dbos queued", postgres, dbosOn(true), knobs{"workers": 200, "poll_ms": 10, "wait_ms": 2}, 25},

	{"millrace", file, millraceOn(onSQLite), knobs{"slots": 1000, "slots_w9": 64}, 100},
	{"ceiling", file, onCeiling, knobs{"batch": 300}, 100},
	{"river", file, onFile, knobs{"workers": 100, "cooldown_ms": 1, "poll_ms": 10}, 25},
	{"dbos", file, dbosOn(false), knobs{"callers": 16, "workers": 16, "poll_ms": 1000}, 25},
	{"go-workflows", file, onWorkflows, knobs{"pollers": 2, "cache": 10_000}, 5},
}

// workload is what is asked of each system.
type workload struct {
	name  string
	what  string
	shape shape
	runs  int
	flood int // W9
	ended bool
	many  bool // a long backlog
	// beside is the workload whose rate it is compared with: measured just before and just after it, since the speed of a
	// machine drifts within minutes by more than what is looked for.
	beside string
}

// neighbour is the name under which the figures of the workload beside it are kept.
func (w workload) neighbour() string { return w.beside + " beside " + w.name }

// growing are the systems of W5: for the others it would take hours, and some have no backlog.
func (s system) growing() bool {
	return s.name == subjectName || s.name == "river" && s.store == postgres
}

// fits says whether a workload makes sense for a system.
func (w workload) fits(s system) bool {
	return s.growing() || !w.ended && !w.many
}

var workloads = []workload{
	{name: "W1", what: "runs of one step from a backlog", shape: one, runs: 20_000},
	{name: "W2", what: "sequences of 5 steps", shape: five, runs: 4_000},
	{name: "W3", what: "a fork of 10 and a join", shape: forked, runs: 1_000},
	{name: "W4", what: "an idle system, one run at a time", runs: 200},
	{name: "W5 ended", what: "W1 after many that have ended", shape: one, runs: 20_000, ended: true, beside: "W1"},
	{name: "W5 backlog", what: "W1 from a long backlog", shape: one, many: true, beside: "W1"},
	{name: "W5 both", what: "W1 with both", shape: one, ended: true, many: true, beside: "W1"},
	{name: "W6", what: "a saga of 4 steps that are done, one that fails for good, 4 compensations", shape: undone, runs: 2_000},
	{name: "W7", what: "starts", runs: 20_000},
	{name: "W9", what: "a tenant's runs while another's flood waits", runs: 20, flood: 100_000},
}

func workloadOf(name string) workload {
	return workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })]
}

func find(name, store string) (system, bool) {
	i := slices.IndexFunc(systems, func(s system) bool { return s.name == name && s.store == store })
	if i < 0 {
		return system{}, false
	}
	return systems[i], true
}

package tidy

// Millrace gives the rules of this house: the staircase of ARCHITECTURE.md, and the budgets. A package that is not named
// here is a mistake; a new room is declared in the commit that builds it, with a reason for each arrow that is new.
func Millrace() House {
	core := []string{"store", "machine", "workflow", "expr"}
	adapters := []string{"store/memory", "store/sqlite", "store/faulty", "store/storetest", "runner/command"}
	workflowRooms := []string{"workflow/internal/document", "workflow/internal/flow", "workflow/internal/format", "workflow/internal/input"}
	return House{
		Module: "github.com/millrace-go/millrace",
		Limits: Limits{Func: 60, File: 500, Package: 3000, Interface: 10, P90: 30},
		Rooms: []Room{
			{Path: "expr", Pure: true, Uses: []string{"expr/internal/eval"}},
			{Path: "expr/internal/eval", Pure: true, Tests: []string{"expr"}},
			{Path: "workflow/internal/document", Pure: true},
			{Path: "workflow/internal/flow", Pure: true},
			{Path: "workflow/internal/format", Pure: true, Uses: []string{"workflow/internal/document"}}, // its tables check documents
			{Path: "workflow/internal/input", Pure: true, Uses: []string{"workflow/internal/document"}},  // schemas are parts of documents
			{Path: "workflow/internal/picture", Pure: true},
			{Path: "workflow", Pure: true, Uses: append([]string{"expr"}, workflowRooms...), Tests: []string{"workflow/draw"}},
			{Path: "workflow/draw", Pure: true, Uses: []string{"workflow", "workflow/internal/document", "workflow/internal/format", "workflow/internal/picture"}},
			{Path: "machine", Pure: true, Short: true, Uses: []string{"workflow", "expr"}},

			{Path: "store", Uses: []string{"machine"}},
			{Path: "store/memory", Uses: []string{"store", "machine"}, Tests: testsOf(core)},
			{Path: "store/sqlite", Uses: []string{"store", "machine"}, Tests: testsOf(core)},
			{Path: "store/postgres", Uses: []string{"store", "machine"}, Tests: append([]string{"internal/pgcluster"}, testsOf(core)...)},
			{Path: "store/faulty", Uses: []string{"store", "machine"}, Tests: testsOf(core)},
			{Path: "store/storetest", Uses: core, Tests: testsOf(core)},

			{Path: "runner/internal/plain"}, // what the executors share
			{Path: "runner/command", Uses: []string{"workflow", "runner/internal/plain"}, Tests: []string{"expr"}},
			{Path: "runner/httpcall", Uses: []string{"runner/internal/plain"}},

			{Path: "internal/clock"},
			{Path: "internal/mask"},
			{Path: "internal/pgcluster"}, // support for tests
			{Path: "internal/engine", Uses: append([]string{"internal/clock", "internal/mask"}, core...), Tests: adapters},
			{Path: "internal/doctor", Uses: core, Tests: append([]string{"internal/engine"}, adapters...)},
			{Path: ".", Uses: append([]string{"internal/engine", "internal/doctor", "internal/clock"}, core...), Tests: adapters},
			{Path: "internal/sim", Uses: append([]string{"internal/engine", "internal/clock", "store/memory", "store/faulty"}, core...), Tests: []string{"store/sqlite", "store/postgres", "internal/pgcluster"}},
			{Path: "internal/fleet", Uses: append([]string{".", "store/postgres"}, core...), Tests: []string{"internal/pgcluster"}},  // support for tests
			{Path: "internal/chaos", Uses: append([]string{".", "store/postgres", "internal/fleet", "internal/pgcluster"}, core...)}, // support for tests, and one

			{Path: "cmd/millrace/...", Uses: []string{everything}},
			{Path: "examples/...", Uses: []string{everything}},
			{Path: "bench/...", Uses: []string{everything}},
			{Path: "internal/tidy/..."},
		},
	}
}

// testsOf gives what the tests of a store may know besides: the contract suite and the stores that it compares.
func testsOf(core []string) []string {
	return append([]string{"store/storetest", "store/memory", "store/sqlite", "store/faulty", "internal/clock"}, core...)
}

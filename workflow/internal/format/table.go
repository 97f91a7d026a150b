// Package format is the one description of the workflow file format, and what is made of it alone: the check of a document,
// its canonical form, the JSON Schema and the reference page.
//
// Nouns: a place is a kind of object, such as a step or a retry policy; an entry describes one key of a place; a shape is a
// form that the key's value may take; a stage counts the versions in which parts of the format came to run. The reader checks
// documents against the tables, messages and suggestions are made from them, and the canonical form is written in their order.
// The package is pure; of Millrace it imports workflow/internal/document.
package format

import (
	"slices"

	"github.com/millrace-go/millrace/workflow/internal/document"
)

// Stage is that of this version: what begins to run at a later one can be read and drawn, but not started.
const Stage = 3

// reserved is the stage of keys that have no meaning yet.
const reserved = 99

// shapeKind is the sort of value that a key holds.
type shapeKind uint8

const (
	anyText   shapeKind = iota
	name                // 1-255 characters without control characters or surrounding space
	stepKey             // letters, digits, _ and -
	flag                // true or false
	whole               // a whole number from min to max
	decimal             // a number from min to max
	duration            // see ParseDuration; min 1: not zero
	choice              // one of words
	percent             // N%
	program             // one expression, written bare; a number or a boolean is one too
	textValue           // text with ${ expressions }
	value               // any JSON value with ${ expressions }; of "object": an object
	anything            // any JSON value, kept as it is
	object              // any object, kept as it is
	place               // an object with the keys of the place called of
	list                // a list, each item of one of the shapes in items
	table               // an object whose keys are the author's, each value of one of the shapes in items
)

// shape is one form that the value of a key may take.
type shape struct {
	kind     shapeKind
	min, max float64
	words    []string
	of       string
	items    []shape
	filled   bool // list, table: must not be empty
	ordered  bool // table: the order of its members means something
}

// entry describes one key of a place.
type entry struct {
	name     string
	says     string
	example  string   // a value, as YAML
	shapes   []shape  // the first that fits the JSON type is meant
	zero     string   // JSON of the canonical value that means the same as leaving the key out
	required bool     // the reader refuses an object without it
	since    int      // the stage from which on it runs; 0: the first
	action   bool     // the key names what the step does
	output   string   // of an action: what the step gives
	actions  []string // step keys: the actions that take it; nil: all
	instead  string   // remedy where it is not taken
	wrap     func(*document.Node) *document.Node
	keep     func(in *document.Node) bool // whether zero is kept because of what stands beside it
}

func sh(kind shapeKind) []shape      { return []shape{{kind: kind}} }
func placeOf(of string) shape        { return shape{kind: place, of: of} }
func listOf(items ...shape) shape    { return shape{kind: list, items: items, filled: true} }
func tableOf(items ...shape) shape   { return shape{kind: table, items: items} }
func choiceOf(words ...string) shape { return shape{kind: choice, words: words} }
func filled(s shape) shape           { s.filled = true; return s }
func ordered(s shape) shape          { s.ordered = true; return s }
func wholeFrom(low, high float64) shape {
	return shape{kind: whole, min: low, max: high}
}

var (
	someNames = []shape{{kind: name}, {kind: list, items: sh(name)}}
	someSteps = []shape{{kind: stepKey}, {kind: list, items: sh(stepKey)}}
	someTime  = []shape{{kind: duration}}
	realTime  = []shape{{kind: duration, min: 1}}
	oneStep   = []shape{{kind: place, of: "step"}}
	bodySteps = []shape{{kind: table, items: oneStep, filled: true, ordered: true}, {kind: list, items: oneStep, filled: true}}

	workers    = []string{"task", "run", "shell", "http"}
	commands   = []string{"run", "shell"}
	composites = []string{"switch", "steps", "parallel", "map", "loop"}
	repeatable = slices.Concat(workers, composites, []string{"workflow"})
	failing    = slices.Concat([]string{"set", "wait", "await", "emit", "approve"}, repeatable)
	undoable   = slices.Concat([]string{"await", "emit", "approve"}, repeatable)
)

const insideBodies = "write it on the steps inside"

// format lists the keys of every place.
var format = map[string][]entry{
	"workflow":     topEntries,
	"step":         stepEntries,
	"body":         bodyEntries,
	"case":         slices.Concat(caseEntries, bodyEntries),
	"catch":        slices.Concat(matchEntries, catchEntries, bodyEntries),
	"retry":        slices.Concat(retryEntries, matchEntries),
	"defaults":     defaultEntries,
	"var":          varEntries,
	"http":         httpEntries,
	"wait":         waitEntries,
	"await":        slices.Concat(awaitedEntries, awaitEntries),
	"awaited":      awaitedEntries,
	"emit":         emitEntries,
	"to":           toEntries,
	"approve":      approveEntries,
	"call":         callEntries,
	"fail":         failEntries,
	"end":          endEntries,
	"map":          slices.Concat(mapEntries, bodyEntries),
	"loop":         slices.Concat(loopEntries, bodyEntries),
	"concurrency":  limitEntries,
	"rate":         slices.Concat(limitEntries, rateEntries),
	"compensation": workerEntries(),
	"shared":       slices.Concat([]entry{onceEntry}, workerEntries()),
	"notify":       workerEntries(),
}

// workerEntries gives the keys of what is no step of a body but is done as one: an action of a worker with its keys.
func workerEntries() []entry {
	var kept []entry
	for _, e := range stepEntries {
		if e.action && slices.Contains(workers, e.name) || slices.Contains(besideWorker, e.name) {
			kept = append(kept, e)
		}
	}
	return kept
}

// besideWorker are the keys of a step that a compensation or a notification takes.
var besideWorker = []string{
	"title", "description", "with", "env", "dir", "stdin", "stdout", "codes", "retry", "timeout", "lease", "queue", "priority", "at_most_once", "meta",
}

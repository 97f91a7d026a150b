// Package format is the one description of the workflow file format, and what is made of it alone: the check of a document
// and its canonical form.
//
// Nouns: a place is a kind of object, such as a step or a retry policy; an entry describes one key of a place; a shape is a
// form that the key's value may take. The reader checks documents against the tables, messages and suggestions are made from
// them, and the canonical form is written in their order; the JSON Schema and the reference page are to come from them too.
// The package is pure; of Millrace it imports workflow/internal/document.
package format

import "github.com/millrace-go/millrace/workflow/internal/document"

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
	value               // any JSON value with ${ expressions }
	object              // any object, kept as it is
	place               // an object with the keys of the place called of
	list                // a list, each item of shape item
	table               // an object whose keys are the author's, each value of shape item
)

// shape is one form that the value of a key may take.
type shape struct {
	kind     shapeKind
	min, max float64
	words    []string
	of       string
	item     *shape
	filled   bool // list, table: must not be empty
}

// entry describes one key of a place. A key without shapes is part of the format but does not run in this version.
type entry struct {
	name    string
	says    string
	shapes  []shape  // in this order the first that fits the JSON type is meant
	zero    string   // JSON of the canonical value that means the same as leaving the key out
	action  bool     // the key names what the step does
	actions []string // step keys: the actions that take it; nil: all
	instead string   // remedy where it is not taken
	wrap    func(*document.Node) *document.Node
}

// foreign is a spelling of another tool and what to write here.
type foreign struct{ spelling, remedy string }

func sh(kind shapeKind) []shape      { return []shape{{kind: kind}} }
func placeOf(of string) shape        { return shape{kind: place, of: of} }
func listOf(item shape) shape        { return shape{kind: list, item: &item, filled: true} }
func tableOf(item shape) shape       { return shape{kind: table, item: &item} }
func choiceOf(words ...string) shape { return shape{kind: choice, words: words} }
func filled(s shape) shape           { s.filled = true; return s }
func wholeFrom(low, high float64) shape {
	return shape{kind: whole, min: low, max: high}
}

var (
	someNames = []shape{{kind: name}, {kind: list, item: &shape{kind: name}}}
	someSteps = []shape{{kind: stepKey}, {kind: list, item: &shape{kind: stepKey}}}
	someTime  = []shape{{kind: duration}}
	realTime  = []shape{{kind: duration, min: 1}}
	bodySteps = []shape{{kind: table, item: &shape{kind: place, of: "step"}, filled: true}, {kind: list, item: &shape{kind: place, of: "step"}, filled: true}}

	workers    = []string{"task", "run", "shell"}
	commands   = []string{"run", "shell"}
	composites = []string{"switch", "steps", "parallel", "map", "loop"}
	failing    = append([]string{"set", "wait"}, append(workers, composites...)...)
	repeatable = append(append([]string{}, workers...), composites...)
)

const insideBodies = "write it on the steps inside"

// bodyKeys are the two ways to write a body.
var bodyKeys = []entry{
	{name: "do", says: "One step: an action with its keys.", shapes: []shape{placeOf("step")}},
	{name: "steps", says: "A graph (map) or a sequence (list) of steps.", shapes: bodySteps},
}

// matchKeys say which failures an entry of `catch` takes.
var matchKeys = []entry{
	{name: "only", says: "The error codes that are meant; left out: every code.", shapes: someNames, zero: "[]", wrap: wrapList},
	{name: "except", says: "Error codes that are not meant.", shapes: someNames, zero: "[]", wrap: wrapList},
}

// format lists the keys of every place.
var format = map[string][]entry{
	"workflow": {
		{name: "workflow", says: "The workflow's name.", shapes: sh(name)},
		{name: "version", says: "Its version; left out, the next free number is taken.", shapes: []shape{wholeFrom(1, 1e9)}},
		{name: "title", says: "A short name for people.", shapes: sh(anyText), zero: `""`},
		{name: "description", says: "What it is for.", shapes: sh(anyText), zero: `""`},
		{name: "labels", says: "Labels of its runs."},
		{name: "input", says: "JSON Schema of the run's input, checked at the start; defaults are filled in.", shapes: sh(object)},
		{name: "vars", says: "Values that the installation may set, with their defaults."},
		{name: "defaults", says: "Retry, timeout, queue and env of steps that do not say otherwise."},
		{name: "deadline", says: "How long a run may take in all."},
		{name: "on_failure", says: "What becomes of a run whose step failed: compensate, park or fail."},
		{name: "on_compensation_failure", says: "What becomes of the rest when a compensation gives up: stop or continue."},
		{name: "compensations", says: "Compensations that several steps share."},
		{name: "steps", says: "The steps: a map is a graph, a list a sequence.", shapes: bodySteps},
		{name: "output", says: "The run's output; left out, that of its last steps.", shapes: sh(value)},
		{name: "finally", says: "A body that runs when all else of the run is over."},
		{name: "schedule", says: "Reserved."},
		{name: "triggers", says: "Reserved."},
	},
	"step": stepEntries,
	"body": bodyKeys,
	"case": append([]entry{
		{name: "when", says: "The case is taken when this is true; the last may do without.", shapes: sh(program)},
		{name: "next", says: "The step to go on with.", shapes: sh(stepKey)},
	}, bodyKeys...),
	"catch": append(append(append([]entry{}, matchKeys...),
		entry{name: "when", says: "Only failures for which this is true; `error` is in scope.", shapes: sh(program)},
		entry{name: "next", says: "The step to go on with.", shapes: sh(stepKey)}), bodyKeys...),
	"retry": append([]entry{
		{name: "attempts", says: "All attempts, the first included.", shapes: []shape{wholeFrom(1, 1e6)}, zero: "4"},
		{name: "delay", says: "The time before the second attempt.", shapes: someTime, zero: `"1s"`},
		{name: "factor", says: "By what an exponential delay grows.", shapes: []shape{{kind: decimal, min: 1, max: 1000}}, zero: "2"},
		{name: "grow", says: "How the delay grows.", shapes: []shape{choiceOf("constant", "linear", "exponential")}, zero: `"exponential"`},
		{name: "max_delay", says: "The longest delay.", shapes: someTime, zero: `"30s"`},
		{name: "delays", says: "The delay before each further attempt, one by one.", shapes: []shape{listOf(shape{kind: duration})}},
		{name: "jitter", says: "The share of a delay that varies with the attempt.", shapes: []shape{{kind: decimal, min: 0, max: 1}}, zero: "0.2"},
		{name: "for", says: "How long attempts may go on, from when the task first became ready.", shapes: realTime},
	}, matchKeys...),
	"wait": {{name: "until", says: "RFC 3339 text; in the past: at once.", shapes: sh(program)}},
	"fail": {
		{name: "code", says: "The error's code; left out: failed.", shapes: sh(name), zero: `"failed"`},
		{name: "message", says: "What to tell people.", shapes: sh(textValue)},
		{name: "data", says: "Anything more about the error.", shapes: sh(value)},
	},
	"end": {{name: "output", says: "The scope's output; left out: what the step got.", shapes: sh(value)}},
	"map": append([]entry{
		{name: "over", says: "The list.", shapes: sh(program)},
		{name: "as", says: "The item's name; NAME_index is its number.", shapes: sh(stepKey), zero: `"item"`},
		{name: "parallel", says: "How many items run at once.", shapes: []shape{wholeFrom(1, 1e6)}},
		{name: "tolerate", says: "How many items may fail: a number, or a percentage of all.", shapes: []shape{wholeFrom(0, 1e9), {kind: percent}}, zero: "0"},
		{name: "need", says: "How many items must succeed; left out: all.", shapes: sh(program)},
		{name: "cancel_rest", says: "Stop the others once `need` is met.", shapes: sh(flag), zero: "false"},
	}, bodyKeys...),
	"loop": append([]entry{
		{name: "over", says: "A list: one pass for each item.", shapes: sh(program)},
		{name: "as", says: "With `over`: the item's name.", shapes: sh(stepKey), zero: `"item"`},
		{name: "while", says: "Asked before a pass.", shapes: sh(program)},
		{name: "until", says: "Asked after a pass; `prev` is what it gave.", shapes: sh(program)},
		{name: "limit", says: "The most passes; left out: 1000.", shapes: sh(program)},
		{name: "every", says: "The pause between passes.", shapes: someTime, zero: `"0s"`},
		{name: "collect", says: "Give the list of what all passes gave.", shapes: sh(flag), zero: "false"},
	}, bodyKeys...),
}

// stepEntries are the keys of a step: its common keys and its actions.
var stepEntries = []entry{
	{name: "id", says: "The step's key, in a list of steps.", shapes: sh(stepKey)},
	{name: "title", says: "A short name for people.", shapes: sh(anyText), zero: `""`},
	{name: "description", says: "What it is for.", shapes: sh(anyText), zero: `""`},
	{name: "after", says: "The steps that come before it.", shapes: someSteps, zero: "[]", wrap: wrapList},
	{name: "join", says: "When it starts if several steps lead to it: all, settled, any, or a number.", shapes: []shape{wholeFrom(1, 1e4), choiceOf("all", "settled", "any")}, zero: `"all"`},
	{name: "when", says: "The step is passed over when this is false.", shapes: sh(program)},
	{
		name: "need", says: "How many branches must succeed; left out: all.", shapes: sh(program),
		actions: []string{"parallel"}, instead: "write it beside `parallel`, or inside `map`; write `join: N` for a step that several lead to",
	},
	{name: "cancel_rest", says: "Stop what is no longer needed once `join` or `need` is met.", shapes: sh(flag), zero: "false"},

	{name: "task", action: true, says: "A handler that some worker registered under this name.", shapes: sh(name)},
	{name: "run", action: true, says: "A program and its arguments; never a shell.", shapes: []shape{listOf(shape{kind: value})}},
	{name: "shell", action: true, says: "A script for sh -eu; its text is never interpolated.", shapes: sh(anyText)},
	{name: "http", action: true, says: "An HTTP request."},
	{name: "set", action: true, says: "Gives this object.", shapes: []shape{{kind: value, of: "object"}}},
	{name: "wait", action: true, says: "Waits for a duration, or until a time.", shapes: []shape{{kind: duration}, placeOf("wait")}},
	{name: "await", action: true, says: "Waits for events."},
	{name: "emit", action: true, says: "Sends an event."},
	{name: "approve", action: true, says: "Waits for a person's decision."},
	{name: "switch", action: true, says: "Takes the first case that is true.", shapes: []shape{listOf(placeOf("case"))}},
	{name: "steps", action: true, says: "A body in place.", shapes: bodySteps},
	{name: "parallel", action: true, says: "Branches that run side by side.", shapes: []shape{filled(tableOf(placeOf("body")))}},
	{name: "map", action: true, says: "Runs a body once for each item of a list.", shapes: []shape{placeOf("map")}},
	{name: "loop", action: true, says: "Runs a body again and again.", shapes: []shape{placeOf("loop")}},
	{name: "workflow", action: true, says: "Starts a child run and waits for it."},
	{name: "savepoint", action: true, says: "Marks what is not to be undone."},
	{name: "fail", action: true, says: "Fails its scope.", shapes: []shape{placeOf("fail")}},
	{name: "end", action: true, says: "Ends its scope with success, or the run.", shapes: []shape{{kind: flag}, choiceOf("run"), placeOf("end")}, wrap: wrapEnd},

	{
		name: "with", says: "The step's input; left out: what came before.", shapes: sh(value),
		actions: []string{"task", "run", "shell", "steps", "parallel", "map", "loop"}, instead: "leave it out: the action's own value says what it reads",
	},
	{name: "env", says: "Environment of the command.", shapes: []shape{tableOf(shape{kind: value})}, zero: "{}", actions: commands, instead: "write it on a `run` or `shell` step"},
	{name: "dir", says: "Where the command runs, inside the workflow's folder.", shapes: sh(anyText), zero: `""`, actions: commands, instead: "write it on a `run` or `shell` step"},
	{name: "stdin", says: "What the command reads.", shapes: []shape{choiceOf("json", "none")}, zero: `"json"`, actions: commands, instead: "write it on a `run` or `shell` step"},
	{name: "stdout", says: "How standard output becomes output.", shapes: []shape{choiceOf("auto", "json", "text", "lines", "log")}, zero: `"auto"`, actions: commands, instead: "write it on a `run` or `shell` step"},
	{name: "codes", says: "Error codes by exit status.", shapes: []shape{tableOf(shape{kind: name})}, zero: "{}", actions: commands, instead: "write it on a `run` or `shell` step"},
	{name: "next", says: "In a list of steps: the step to go on with, or end.", shapes: sh(stepKey)},
	{name: "retry", says: "How often and when to try again.", shapes: []shape{wholeFrom(1, 1e6), placeOf("retry"), listOf(placeOf("retry"))}, wrap: wrapRetry, actions: repeatable, instead: "leave it out: trying again would give the same"},
	{name: "timeout", says: "How long an attempt, or the composite, may take.", shapes: realTime, actions: append([]string{"wait"}, repeatable...), instead: "leave it out: the step takes no time"},
	{name: "delay", says: "How long to wait before it starts.", shapes: someTime, zero: `"0s"`},
	{name: "lease", says: "How long a worker may be silent; left out: the engine's.", shapes: realTime, actions: workers, instead: insideBodies},
	{name: "queue", says: "The queue of its tasks; left out: default.", shapes: sh(name), zero: `"default"`, actions: workers, instead: insideBodies},
	{name: "priority", says: "A higher number is served earlier.", shapes: []shape{wholeFrom(-1000, 1000)}, zero: "0", actions: workers, instead: insideBodies},
	{name: "catch", says: "What to do when it failed.", shapes: []shape{placeOf("catch"), listOf(placeOf("catch"))}, wrap: wrapList, actions: failing, instead: "leave it out: nothing can be caught here"},
	{name: "on_error", says: "What becomes of a failure that no catch took.", shapes: []shape{choiceOf("fail", "continue", "skip")}, zero: `"fail"`, actions: failing, instead: "leave it out: there is no failure to handle here"},
	{name: "at_most_once", says: "Not tried again when its worker was lost.", shapes: sh(flag), zero: "false", actions: workers, instead: insideBodies},
	{name: "compensate", says: "The action that undoes the step."},
	{name: "compensate_unknown", says: "Whether a step that gave no answer is undone."},
	{name: "concurrency", says: "How many tasks of a key run at once."},
	{name: "rate", says: "How many tasks of a key start in a time."},
	{name: "heartbeat", says: "How long a deferred task may give no sign of life."},
	{name: "meta", says: "Anything that other programs want to keep here.", shapes: sh(object)},
}

// foreigners are the spellings of other tools by place.
var foreigners = map[string][]foreign{
	"workflow": {
		{"name", "write `workflow: NAME`"},
		{"id", "write `workflow: NAME`"},
		{"jobs", "write `steps:`"},
		{"tasks", "write `steps:`"},
		{"states", "write `steps:`"},
		{"on", "leave it out: runs are started by a command or through the API"},
		{"inputs", "write `input:` with a JSON Schema"},
		{"params", "write `input:` with a JSON Schema"},
		{"parameters", "write `input:` with a JSON Schema"},
		{"do", "write `steps:` with a list"},
		{"env", "write `env` on the steps that need it"},
		{"startAt", "leave it out: a step that nothing leads to is a first step"},
		{"timeout", "write `timeout` on the steps"},
		{"outputs", "write `output:`"},
	},
	"step": {
		{"needs", "write `after`"},
		{"depends_on", "write `after`"},
		{"dependsOn", "write `after`"},
		{"depends", "write `after`"},
		{"dependencies", "write `after`"},
		{"requires", "write `after`"},
		{"before", "write `after` on the other step"},
		{"if", "write `when`"},
		{"condition", "write `when`"},
		{"unless", "write `when: not (...)`"},
		{"to", "write `next`"},
		{"then", "write `next`"},
		{"goto", "write `next`"},
		{"on", "write `when`, or `catch` for failures"},
		{"name", "write `title`, or `id` in a list of steps; in a map the key is the name"},
		{"uses", "write `task: NAME` or `run: [PROGRAM, ARGUMENT]`"},
		{"type", "leave it out: the action's own key says what the step does"},
		{"action", "write the action's own key, such as `task: NAME`"},
		{"script", "write `shell:`"},
		{"command", "write `run: [PROGRAM, ARGUMENT]`"},
		{"cmd", "write `run: [PROGRAM, ARGUMENT]`"},
		{"exec", "write `run: [PROGRAM, ARGUMENT]`"},
		{"args", "write the arguments into `run: [PROGRAM, ARGUMENT]`"},
		{"call", "write `task: NAME`"},
		{"foreach", "write `map: { over: LIST, do: ... }`"},
		{"for_each", "write `map: { over: LIST, do: ... }`"},
		{"forEach", "write `map: { over: LIST, do: ... }`"},
		{"with_items", "write `map: { over: LIST, do: ... }`"},
		{"for", "write `map: { over: LIST, do: ... }`"},
		{"matrix", "write `map: { over: LIST, do: ... }`"},
		{"while", "write `loop: { while: ..., do: ... }`"},
		{"until", "write `loop: { until: ..., do: ... }`"},
		{"branches", "write `parallel: { NAME: { do: ... } }`"},
		{"choice", "write `switch`"},
		{"choices", "write `switch`"},
		{"retries", "write `retry`"},
		{"max_attempts", "write `retry: N`"},
		{"sleep", "write `wait: DURATION`"},
		{"input", "write `with`"},
		{"inputs", "write `with`"},
		{"params", "write `with`"},
		{"parameters", "write `with`"},
		{"output", "leave it out: read `steps.KEY.output`"},
		{"outputs", "leave it out: read `steps.KEY.output`"},
		{"continue_on_error", "write `on_error: continue`"},
		{"continue-on-error", "write `on_error: continue`"},
		{"ignore_errors", "write `on_error: continue`"},
		{"on_failure", "write `catch`"},
		{"onError", "write `catch` or `on_error`"},
		{"cwd", "write `dir`"},
		{"workdir", "write `dir`"},
		{"working_directory", "write `dir`"},
		{"working-directory", "write `dir`"},
		{"timeout-minutes", "write `timeout: 5m`"},
		{"timeout_seconds", "write `timeout: 30s`"},
		{"return", "write `end: { output: ... }`"},
		{"raise", "write `fail: { code: CODE }`"},
		{"log", "write `shell: echo ...`"},
		{"do", "write the action itself here; `do` belongs to map, loop, branches, cases and catches"},
	},
	"case":  {{"if", "write `when`"}, {"condition", "write `when`"}, {"to", "write `next`"}, {"then", "write `next` or `do`"}, {"default", "leave `when` out of the last case"}, {"else", "leave `when` out of the last case"}},
	"catch": {{"code", "write `only`"}, {"codes", "write `only`"}, {"errors", "write `only`"}, {"error", "write `only`"}, {"to", "write `next`"}, {"if", "write `when`"}},
	"retry": {
		{"max_attempts", "write `attempts`"},
		{"max", "write `attempts`"},
		{"limit", "write `attempts`"},
		{"count", "write `attempts`"},
		{"times", "write `attempts`"},
		{"retries", "write `attempts`: the first one counts too"},
		{"backoff", "write `factor` or `grow`"},
		{"interval", "write `delay`"},
		{"on", "write `only`"},
	},
	"map":  {{"items", "write `over`"}, {"in", "write `over`"}, {"each", "write `as`"}, {"concurrency", "write `parallel`"}, {"max_concurrency", "write `parallel`"}, {"item", "write `as`"}},
	"loop": {{"times", "write `limit`"}, {"max", "write `limit`"}, {"condition", "write `while` or `until`"}, {"delay", "write `every`"}, {"interval", "write `every`"}},
	"wait": {{"for", "write the duration itself: `wait: 5m`"}, {"duration", "write the duration itself: `wait: 5m`"}, {"seconds", "write `wait: 30s`"}, {"event", "`await` waits for events, but does not run in this version yet"}},
	"fail": {{"error", "write `code`"}, {"reason", "write `message`"}},
	"end":  {{"result", "write `output`"}},
}

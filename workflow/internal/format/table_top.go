package format

import "github.com/millrace-go/millrace/workflow/internal/document"

// topEntries are the keys at the top of a file.
var topEntries = []entry{
	{name: "workflow", required: true, says: "The workflow's name.", example: "order", shapes: sh(name)},
	{name: "version", says: "Its version; left out, the next free number is taken.", example: "3", shapes: []shape{wholeFrom(1, 1e9)}},
	{name: "title", says: "A short name for people.", example: "Ship an order", shapes: sh(anyText), zero: `""`},
	{name: "description", says: "What it is for.", example: "Takes an order from the basket to the carrier.", shapes: sh(anyText), zero: `""`},
	{name: "labels", since: 2, says: "Labels of its runs, to find them by; plain text.", example: "{ team: billing }", shapes: []shape{tableOf(shape{kind: anyText})}, zero: "{}"},
	{name: "input", says: "JSON Schema of the run's input, checked at the start; defaults are filled in.", example: "{ type: object, required: [lines] }", shapes: sh(object)},
	{
		name: "vars", since: 2, says: "Values that the installation may set (`--var NAME=VALUE`, or `MILLRACE_VAR_NAME` in upper case with `-` as `_`), with their defaults; null: a run cannot start without a value.",
		example: `{ payments: "https://payments.test" }`, shapes: []shape{tableOf(placeOf("var"), shape{kind: anything})}, zero: "{}", wrap: wrapVars,
	},
	{name: "defaults", since: 2, says: "Keys of the steps that do not say otherwise: `retry`, `timeout` and `queue` of steps that a worker does, `env` of commands.", example: "{ timeout: 30s }", shapes: []shape{placeOf("defaults")}, zero: "{}"},
	{name: "deadline", says: "How long a run may take in all.", example: "3d", shapes: realTime, since: 3},
	{name: "on_failure", says: "What becomes of a run whose step failed: what it did is undone, the step waits for a person, or the run just fails.", example: "park", shapes: []shape{choiceOf("compensate", "park", "fail")}, zero: `"compensate"`, since: 3},
	{name: "on_compensation_failure", says: "What becomes of the rest when a compensation gives up: it waits for a person, or is undone first.", example: "continue", shapes: []shape{choiceOf("stop", "continue")}, zero: `"stop"`, since: 3},
	{name: "compensations", says: "Compensations that several steps share, by name.", example: "{ release: { task: stock.release, once: true } }", shapes: []shape{ordered(tableOf(placeOf("shared")))}, zero: "{}", since: 3},
	{name: "steps", required: true, says: "The steps: a map is a graph, a list a sequence.", example: "{ check: { run: [./check.sh] } }", shapes: bodySteps},
	{name: "output", says: "The run's output; left out, that of its last steps. An `end` with an output at the root goes before it.", example: `{ parcels: "${ steps.pack.output }" }`, shapes: sh(value)},
	{name: "finally", says: "A body that runs once when all else of the run is over, with `run.ending` and `error` in scope.", example: "{ do: { run: [./tell.sh, \"${ run.ending }\"] } }", shapes: []shape{placeOf("body")}, since: 3},
	{name: "schedule", says: "Reserved.", example: "daily", shapes: sh(anything), since: reserved},
	{name: "triggers", says: "Reserved.", example: "[]", shapes: sh(anything), since: reserved},
}

// defaultEntries are the keys of `defaults`.
var defaultEntries = []entry{
	{name: "retry", says: "How often and when to try again, for task, run, shell and http.", example: "3", shapes: retryShapes, wrap: wrapRetry},
	{name: "timeout", says: "How long an attempt may take, for task, run, shell and http.", example: "30s", shapes: realTime},
	{name: "queue", says: "The queue of tasks.", example: "mail", shapes: sh(name), zero: `"default"`},
	{name: "env", says: "Environment of commands; a step's own goes before it.", example: "{ LANG: C }", shapes: []shape{tableOf(shape{kind: value})}, zero: "{}"},
}

// varEntries are the keys of a variable that says more than its default.
var varEntries = []entry{
	{name: "default", says: "Its value where nothing else is said; left out, a run cannot start without one.", example: `"https://payments.test"`, shapes: sh(anything), zero: "null"},
	{name: "description", says: "What it is for.", example: "where payments are made", shapes: sh(anyText), zero: `""`},
}

// bodyEntries are the two ways to write a body.
var bodyEntries = []entry{
	{name: "do", says: "One step: an action with its keys.", example: "{ task: stock.reserve }", shapes: oneStep},
	{name: "steps", says: "A graph (map) or a sequence (list) of steps.", example: "[{ task: stock.reserve }]", shapes: bodySteps},
}

// matchEntries say which failures are meant.
var matchEntries = []entry{
	{
		name: "only", says: "The error codes that are meant; left out: every code. `http_4xx` and `http_5xx` stand for all such statuses, `passing` for what is tried again without a `retry`.",
		example: "[declined, http_4xx]", shapes: someNames, zero: "[]", wrap: wrapList,
	},
	{name: "except", says: "Error codes that are not meant, in the same words.", example: "declined", shapes: someNames, zero: "[]", wrap: wrapList},
}

// catchEntries are the keys of an entry of `catch`, beside those that match and the body.
var catchEntries = []entry{
	{name: "when", says: "Only failures for which this is true; `error` is in scope.", example: "error.data.permanent", shapes: sh(program)},
	{name: "next", says: "The step to go on with.", example: "alert", shapes: sh(stepKey)},
}

var retryShapes = []shape{wholeFrom(1, 1e6), placeOf("retry"), listOf(placeOf("retry"))}

// usualDelay is the longest delay of a policy that says neither `delay` nor `max_delay`.
const usualDelay = "30s"

var retryEntries = []entry{
	{name: "attempts", says: "All attempts, the first included; with `for` and without it, as many as fit.", example: "5", shapes: []shape{wholeFrom(1, 1e6)}, zero: "4", keep: func(in *document.Node) bool { return in.Get("for") != nil }},
	{name: "delay", says: "The time before the second attempt.", example: "5s", shapes: someTime, zero: `"1s"`},
	{name: "factor", says: "By what an exponential delay grows.", example: "1.5", shapes: []shape{{kind: decimal, min: 1, max: 1000}}, zero: "2"},
	{name: "grow", says: "How the delay grows.", example: "linear", shapes: []shape{choiceOf("constant", "linear", "exponential")}, zero: `"exponential"`},
	{name: "max_delay", says: "The longest delay; left out, 30s, or `delay` where that is longer.", example: "10m", shapes: someTime, zero: `"` + usualDelay + `"`, keep: longDelay},
	{name: "delays", says: "The delay before each further attempt, one by one.", example: "[1d, 3d, 7d]", shapes: []shape{listOf(shape{kind: duration})}},
	{name: "jitter", says: "The share of a delay that varies with the attempt.", example: "0.5", shapes: []shape{{kind: decimal, min: 0, max: 1}}, zero: "0.2"},
	{name: "for", says: "How long attempts may go on, from when the task first became ready.", example: "1d", shapes: realTime},
}

// longDelay says whether a policy's first delay is longer than the longest delay would be by itself.
func longDelay(in *document.Node) bool {
	first := in.Get("delay")
	if first == nil {
		return false
	}
	d, err := ParseDuration(first.Text)
	usual, _ := ParseDuration(usualDelay)
	return err == nil && d > usual
}

// limitEntries are the keys of `concurrency`, and the first of `rate`.
var limitEntries = []entry{
	{name: "key", required: true, says: "Tasks whose keys are the same text count together.", example: `"${ input.customer }"`, shapes: sh(textValue)},
	{name: "limit", says: "How many tasks of a key.", example: "10", shapes: []shape{wholeFrom(1, 1e6)}, zero: "1"},
}

var rateEntries = []entry{{name: "per", says: "In how long a time.", example: "1m", shapes: realTime, zero: `"1s"`}}

var onceEntry = entry{name: "once", says: "Runs once in a failing scope, for the newest of the steps that name it.", example: "true", shapes: sh(flag), zero: "false"}

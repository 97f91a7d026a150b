package format

import "github.com/millrace-go/millrace/workflow/internal/document"

const (
	onCommands  = "write it on a `run` or `shell` step"
	ownGuard    = "leave it out: the action's own value says what it reads"
	handedOn    = "none: it hands on what it got"
	oneOfItsOwn = "of the last step in it"
)

// stepEntries are the keys of a step: its common keys and its actions.
var stepEntries = []entry{
	{name: "id", says: "The step's key, in a list of steps.", example: "reserve", shapes: sh(stepKey)},
	{name: "title", says: "A short name for people.", example: "Reserve the stock", shapes: sh(anyText), zero: `""`},
	{name: "description", says: "What it is for.", example: "The stock is held for a day.", shapes: sh(anyText), zero: `""`},
	{name: "after", says: "The steps that come before it.", example: "[reserve, charge]", shapes: someSteps, zero: "[]", wrap: wrapList},
	{name: "join", says: "When it starts if several steps lead to it: all, settled, any, or a number.", example: "2", shapes: []shape{wholeFrom(1, 1e4), choiceOf("all", "settled", "any")}, zero: `"all"`},
	{name: "when", says: "The step is passed over when this is false.", example: "input.gift", shapes: sh(program)},
	{
		name: "need", says: "How many branches must succeed; left out: all.", example: "2", shapes: sh(program),
		actions: []string{"parallel"}, instead: "write it beside `parallel`, or inside `map`; write `join: N` for a step that several lead to",
	},
	{name: "cancel_rest", says: "Stop what is no longer needed once `join` or `need` is met.", example: "true", shapes: sh(flag), zero: "false"},

	{name: "task", action: true, says: "A handler that some worker registered under this name.", output: "what the handler returned", example: "stock.reserve", shapes: sh(name)},
	{name: "run", action: true, says: "A program and its arguments; never a shell.", output: "its standard output, by `stdout`", example: `[./pack.sh, "${ line.sku }"]`, shapes: []shape{listOf(shape{kind: value})}},
	{name: "shell", action: true, says: "A script for sh -eu; its text is never interpolated.", output: "its standard output, by `stdout`", example: "tar -czf backup.tar.gz data", shapes: sh(anyText)},
	{name: "http", action: true, since: 2, says: "An HTTP request.", output: "the response's body, JSON parsed; with `full` an object", example: `{ method: POST, url: "https://payments.test/charges", json: { amount: "${ input.total }" } }`, shapes: []shape{placeOf("http")}},
	{name: "set", action: true, says: "Gives this object.", output: "that object", example: `{ total: "${ input.a + input.b }" }`, shapes: []shape{{kind: value, of: "object"}}},
	{name: "wait", action: true, says: "Waits for a duration, or until a time.", output: handedOn, example: "5m", shapes: []shape{{kind: duration}, placeOf("wait")}},
	{name: "await", action: true, since: 5, says: "Waits for an event, or for several.", output: "the event's data; of several an object by event", example: `{ event: card.updated, key: "${ run.key }", within: 7d }`, shapes: []shape{placeOf("await")}},
	{name: "emit", action: true, since: 5, says: "Tells a run an event.", output: handedOn, example: `{ event: order.paid, data: { cents: "${ prev.cents }" } }`, shapes: []shape{placeOf("emit")}},
	{name: "approve", action: true, since: 5, says: "Waits for a person's decision. No fails it with `rejected`, running out of time with `timeout`.", output: "`{ by, at, comment, data }`", example: `{ title: "Ship ${ run.key }?", by: [shipping], within: 24h }`, shapes: []shape{placeOf("approve")}},
	{name: "switch", action: true, says: "Takes the first case that is true.", output: "of the case that ran inside it, else it hands on what it got", example: "[{ when: prev.amount > 1000, do: { task: large } }, { do: { task: small } }]", shapes: []shape{listOf(placeOf("case"))}},
	{name: "steps", action: true, says: "A body in place: one `catch`, `retry`, `timeout` and `when` for all of it.", output: oneOfItsOwn, example: "[{ task: first }, { task: second }]", shapes: bodySteps},
	{name: "parallel", action: true, says: "Branches that run side by side.", output: "an object by branch", example: "{ eu: { do: { task: upload } }, us: { do: { task: upload } } }", shapes: []shape{ordered(filled(tableOf(placeOf("body"))))}},
	{name: "map", action: true, says: "Runs a body once for each item of a list.", output: "a list in the order of the items; null for one that failed", example: "{ over: input.lines, as: line, do: { task: pack } }", shapes: []shape{placeOf("map")}},
	{name: "loop", action: true, says: "Runs a body again and again.", output: "of the last pass; with `collect` the list of all", example: "{ until: prev.done, every: 30s, do: { task: ask } }", shapes: []shape{placeOf("loop")}},
	{name: "workflow", action: true, since: 5, says: "Starts a child run and waits for it.", output: "the child's output", example: "{ name: invoice, key: \"${ customer.number }\" }", shapes: []shape{{kind: name}, placeOf("call")}, wrap: wrapCall},
	{name: "savepoint", action: true, since: 3, says: "Marks what is not to be undone: what led up to it. At the root only.", output: handedOn, example: "true", shapes: sh(flag)},
	{name: "fail", action: true, says: "Fails its scope.", output: "none", example: `{ code: too_large, message: "${ prev.rows } rows" }`, shapes: []shape{placeOf("fail")}},
	{name: "end", action: true, says: "Ends its scope with success (true, or with an output), or the run.", output: "none", example: "true", shapes: []shape{{kind: flag}, choiceOf("run"), placeOf("end")}, wrap: wrapEnd},

	{
		name: "with", says: "The step's input; left out: what came before.", example: `{ lines: "${ input.lines }" }`, shapes: sh(value),
		actions: []string{"task", "run", "shell", "steps", "parallel", "map", "loop", "workflow", "approve"}, instead: ownGuard,
	},
	{name: "env", says: "Environment of the command. Secrets may stand here.", example: `{ TOKEN: "${ secrets.token }" }`, shapes: []shape{tableOf(shape{kind: value})}, zero: "{}", actions: commands, instead: onCommands},
	{name: "dir", says: "Where the command runs, inside the workflow's folder.", example: "build", shapes: sh(anyText), zero: `""`, actions: commands, instead: onCommands},
	{name: "stdin", says: "What the command reads.", example: "none", shapes: []shape{choiceOf("json", "none")}, zero: `"json"`, actions: commands, instead: onCommands},
	{name: "stdout", says: "How standard output becomes output.", example: "lines", shapes: []shape{choiceOf("auto", "json", "text", "lines", "log")}, zero: `"auto"`, actions: commands, instead: onCommands},
	{name: "codes", says: "Error codes by exit status.", example: "{ 3: totals_differ }", shapes: []shape{tableOf(shape{kind: name})}, zero: "{}", actions: commands, instead: "write it on a `run` or `shell` step, or inside `http`"},
	{name: "next", says: "In a list of steps: the step to go on with, or end.", example: "done", shapes: sh(stepKey)},
	{name: "retry", says: "How often and when to try again: a number of attempts, a policy, or a list of policies.", example: "{ attempts: 5, delay: 1s, except: declined }", shapes: retryShapes, wrap: wrapRetry, actions: repeatable, instead: "leave it out: trying again would give the same"},
	{name: "timeout", says: "How long an attempt, or the composite, may take.", example: "30s", shapes: realTime, actions: append([]string{"wait"}, repeatable...), instead: "leave it out: the step takes no time; `await` and `approve` have `within`"},
	{name: "delay", says: "How long to wait before it starts.", example: "5m", shapes: someTime, zero: `"0s"`},
	{name: "lease", says: "How long a worker may be silent; left out: the engine's.", example: "2m", shapes: realTime, actions: workers, instead: insideBodies},
	{name: "queue", says: "The queue of its tasks; left out: default.", example: "graphics", shapes: sh(name), zero: `"default"`, keep: otherQueue, actions: workers, instead: insideBodies},
	{name: "priority", says: "A higher number is served earlier.", example: "10", shapes: []shape{wholeFrom(-1000, 1000)}, zero: "0", actions: workers, instead: insideBodies},
	{name: "catch", says: "What to do when it failed: an entry or a list, of which the first that matches is taken. A body runs in place, and what it gives is the step's output.", example: "{ only: declined, next: dunning }", shapes: []shape{placeOf("catch"), listOf(placeOf("catch"))}, wrap: wrapList, actions: failing, instead: "leave it out: nothing can be caught here"},
	{name: "on_error", says: "What becomes of a failure that no catch took.", example: "continue", shapes: []shape{choiceOf("fail", "continue", "skip")}, zero: `"fail"`, actions: failing, instead: "leave it out: there is no failure to handle here"},
	{name: "at_most_once", says: "Not tried again when its worker was lost.", example: "true", shapes: sh(flag), zero: "false", actions: workers, instead: insideBodies},
	{name: "compensate", since: 3, says: "How the step is undone: an action of a worker, or the name of a shared compensation.", example: "{ task: stock.release }", shapes: []shape{{kind: name}, placeOf("compensation")}, actions: undoable, instead: "leave it out: it does nothing that could be undone"},
	{name: "compensate_unknown", since: 3, says: "Whether a step of which nobody knows if it was done is undone too.", example: "false", shapes: sh(flag), zero: "true", actions: undoable, instead: "leave it out: it does nothing that could be undone"},
	{name: "concurrency", since: 9, says: "How many tasks of a key run at once, over all runs.", example: `{ key: "${ input.customer }", limit: 1 }`, shapes: []shape{placeOf("concurrency")}, actions: workers, instead: insideBodies},
	{name: "rate", since: 9, says: "How many tasks of a key start in a time, over all runs.", example: "{ key: mail, limit: 100, per: 1m }", shapes: []shape{placeOf("rate")}, actions: workers, instead: insideBodies},
	{name: "heartbeat", since: 6, says: "How long a deferred task may give no sign of life.", example: "1h", shapes: realTime, actions: []string{"task"}, instead: "write it on a `task` step"},
	{name: "meta", says: "Anything that other programs want to keep here.", example: "{ owner: ada }", shapes: sh(object)},
}

// otherQueue says whether leaving a step's queue out would mean another than the usual one.
func otherQueue(in *document.Node) bool { return in.Root().Get("defaults").Get("queue") != nil }

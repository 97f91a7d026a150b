package format

var waitEntries = []entry{{name: "until", required: true, says: "RFC 3339 text; in the past: at once.", example: "input.starts", shapes: sh(program)}}

var httpEntries = []entry{
	{name: "method", says: "The method; every one but GET and HEAD carries the task's key as `Idempotency-Key`.", example: "POST", shapes: []shape{choiceOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}, zero: `"GET"`},
	{name: "url", required: true, says: "Where it goes: http or https.", example: `"${ vars.payments }/charges"`, shapes: sh(textValue)},
	{name: "query", says: "Parameters behind the `?`; a list repeats its name.", example: `{ page: "${ pass.number }" }`, shapes: []shape{ordered(tableOf(shape{kind: value}))}, zero: "{}"},
	{name: "headers", says: "Headers. Secrets may stand here.", example: `{ Authorization: "Bearer ${ secrets.payments }" }`, shapes: []shape{ordered(tableOf(shape{kind: textValue}))}, zero: "{}"},
	{name: "json", says: "The body, sent as JSON.", example: `{ amount: "${ input.total }" }`, shapes: sh(value)},
	{name: "form", says: "The body, sent as a form.", example: `{ amount: "${ input.total }" }`, shapes: []shape{ordered(tableOf(shape{kind: value}))}},
	{name: "body", says: "The body, sent as it is.", example: `"${ prev }"`, shapes: sh(textValue)},
	{name: "expect", says: "The statuses that succeed; left out: 200 to 299.", example: "[204, 404]", shapes: []shape{wholeFrom(100, 599), listOf(wholeFrom(100, 599))}, wrap: wrapList},
	{name: "codes", says: "Error codes by status; left out: http_STATUS.", example: "{ 402: declined }", shapes: []shape{tableOf(shape{kind: name})}, zero: "{}"},
	{name: "full", says: "The output is `{ status, headers, body }` and not the body alone.", example: "true", shapes: sh(flag), zero: "false"},
}

// awaitedEntries are the keys of an event that is waited for.
var awaitedEntries = []entry{
	{name: "event", says: "The event's name.", example: "card.updated", shapes: sh(name)},
	{name: "key", says: "Which of the events of this name; left out: those without a key. An event is never consumed: a wait inside a loop needs a key for each pass.", example: `"${ steps.invoice.output.number }"`, shapes: sh(textValue)},
}

var (
	eventShapes = []shape{listOf(shape{kind: name}, placeOf("awaited"))}

	awaitEntries = []entry{
		{name: "all", says: "Several events, all of which are waited for; the output is an object by event.", example: "[goods.arrived, { event: invoice.paid, key: a7 }]", shapes: eventShapes, wrap: wrapEvents},
		{name: "any", says: "Several events, the first of which is enough.", example: "[order.paid, order.cancelled]", shapes: eventShapes, wrap: wrapEvents},
		{name: "within", says: "How long; then the step fails with `timeout`.", example: "7d", shapes: realTime},
	}
)

var emitEntries = []entry{
	{name: "event", required: true, says: "The event's name.", example: "invoice.sent", shapes: sh(name)},
	{name: "key", says: "Tells events of one name apart.", example: `"${ input.number }"`, shapes: sh(textValue)},
	{name: "data", says: "What it tells.", example: `{ cents: "${ prev.cents }" }`, shapes: sh(value)},
	{name: "to", says: "The run that is told; left out: this one.", example: `{ workflow: order, key: "${ input.order }" }`, shapes: []shape{placeOf("to")}},
}

var toEntries = []entry{
	{name: "run", says: "The run's id.", example: `"${ input.run }"`, shapes: sh(textValue)},
	{name: "workflow", says: "The workflow of the run that has the key.", example: "order", shapes: sh(name)},
	{name: "key", says: "The run's key.", example: `"${ input.order }"`, shapes: sh(textValue)},
}

var approveEntries = []entry{
	{name: "title", says: "What is asked.", example: `"Ship ${ run.key }?"`, shapes: sh(textValue)},
	{name: "form", says: "JSON Schema of the data that the decision brings.", example: "{ type: object, required: [ticket] }", shapes: sh(object)},
	{name: "by", says: "The names of those who may decide, each a text; left out: anyone.", example: "[shipping]", shapes: []shape{{kind: textValue}, listOf(shape{kind: textValue})}, wrap: wrapList},
	{name: "within", says: "How long; then the step fails with `timeout`.", example: "24h", shapes: realTime},
	{name: "remind", says: "How often `notify` runs again.", example: "4h", shapes: realTime},
	{name: "notify", says: "An action that runs when the step opens and at each reminder, with `approval` in scope.", example: `{ task: chat.post, with: { text: "${ approval.title }" } }`, shapes: []shape{placeOf("notify")}},
}

var callEntries = []entry{
	{name: "name", required: true, says: "The workflow's name, or ./file.yaml.", example: "invoice", shapes: sh(name)},
	{name: "version", says: "Its version; left out: the newest.", example: "2", shapes: []shape{wholeFrom(1, 1e9)}},
	{name: "key", says: "The child's key: a run that has it is found and not started anew.", example: `"${ customer.number }"`, shapes: sh(textValue)},
	{name: "with", says: "The child's input; left out: what came before.", example: `{ customer: "${ customer }" }`, shapes: sh(value)},
	{name: "labels", says: "Labels of the child.", example: `{ month: "${ input.month }" }`, shapes: []shape{tableOf(shape{kind: textValue})}, zero: "{}"},
	{name: "detach", says: "The child is not waited for.", example: "true", shapes: sh(flag), zero: "false"},
}

var failEntries = []entry{
	{name: "code", says: "The error's code, plain or with expressions: `${ error.code }` raises the same again.", example: "quality_gate", shapes: sh(anyText), zero: `"failed"`},
	{name: "message", says: "What to tell people.", example: `"${ prev.missing } rows are missing"`, shapes: sh(textValue)},
	{name: "data", says: "Anything more about the error.", example: `{ rows: "${ prev.rows }" }`, shapes: sh(value)},
}

var endEntries = []entry{{name: "output", says: "The scope's output; left out: what the step got.", example: `{ released: false }`, shapes: sh(value)}}

var caseEntries = []entry{
	{name: "when", says: "The case is taken when this is true; the last may do without.", example: "prev.amount > 1000", shapes: sh(program)},
	{name: "next", says: "The step to go on with.", example: "review", shapes: sh(stepKey)},
}

var mapEntries = []entry{
	{name: "over", required: true, says: "The list.", example: "input.lines", shapes: sh(program)},
	{name: "as", says: "The item's name; NAME_index is its number.", example: "line", shapes: sh(stepKey), zero: `"item"`},
	{name: "parallel", says: "How many items run at once.", example: "8", shapes: []shape{wholeFrom(1, 1e6)}},
	{name: "tolerate", says: "How many items may fail: a number, or a percentage of all.", example: "5%", shapes: []shape{wholeFrom(0, 1e9), {kind: percent}}, zero: "0"},
	{name: "need", says: "How many items must succeed; left out: all.", example: "3", shapes: sh(program)},
	{name: "cancel_rest", says: "Stop the others once `need` is met.", example: "true", shapes: sh(flag), zero: "false"},
}

var loopEntries = []entry{
	{name: "over", says: "A list: one pass for each item.", example: "input.shops", shapes: sh(program)},
	{name: "as", says: "With `over`: the item's name.", example: "shop", shapes: sh(stepKey), zero: `"item"`},
	{name: "while", says: "Asked before a pass.", example: "prev.more", shapes: sh(program)},
	{name: "until", says: "Asked after a pass; `prev` is what it gave.", example: "prev.done", shapes: sh(program)},
	{name: "limit", says: "The most passes: one more fails with `loop_limit`, which can be caught. Left out: 1000, and that is final.", example: "10", shapes: sh(program)},
	{name: "every", says: "The pause between passes.", example: "30s", shapes: someTime, zero: `"0s"`},
	{name: "collect", says: "Give the list of what all passes gave.", example: "true", shapes: sh(flag), zero: "false"},
}

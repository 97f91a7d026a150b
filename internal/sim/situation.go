package sim

import "slices"

// Situations are the marks: what is worth reaching, each by some of the first 2,000 seeds.
func Situations() []string {
	return slices.Concat(
		[]string{ // what befalls processes
			"a crash between claim and outcome", "a crash after Claim was carried out", "a crash after Settle was carried out",
			"a process was proved dead", "a process left politely", "the answer of a claim was lost", "the answer of a commit was lost",
			"a lost answer was asked for", "a settlement lost to another", "a settlement was skewed", "several outcomes in one settlement",
			"a start was repeated", "a start handed over a task", "a start was put off", "the tasks of a lost claim were asked for",
			"an event was told twice", "a holder saw its own lease run out before the answer that brought it",
			"a holder saw its own lease run out before it asked for what a lost answer brought",
		},
		[]string{ // attempts
			"a task was handed over", "a task was tried again", "an attempt was lost", "a lease was lost while stopping",
			"a success came too late", "an answer came twice", "an attempt was released",
			"an attempt ran out of time", "a handler panicked", "an outcome stays unknown",
		},
		[]string{ // stopping
			"a held task was told to stop", "a task that nobody held was stopped", "a task was stopped before anybody took it",
			"a holder heeded a stop", "a success while stopping", "a failure while stopping",
		},
		[]string{ // flow
			"a step was visited again", "a composite was tried again", "a composite ran out of time",
			"a composite ran out of time while a child stopped", "a superseded step failed", "a failure join_short",
			"a failure tolerate_exceeded", "a failure loop_limit", "a failure expression", "a run succeeded", "a run failed",
			"a join inside a condition inside a fork", "a task in the fourth scope",
		},
		[]string{ // undoing
			"a late finisher was undone", "a late success joined the plan", "a step whose worker was lost was undone",
			"the step that failed was undone", "a composite was undone as a whole", "three compensations and more in order",
			"a shared compensation ran once for several steps", "a savepoint protected what led up to it",
			"a composite was tried again after undoing", "something was undone in a run that succeeded",
			"two scopes were undone side by side", "a compensation was lost", "a run dead", "a letter compensation",
			"a letter outcome_unknown", "a compensation that gave up was redriven and succeeded", "a dead run was undone after all",
			"a compensation was given up", "what nobody knew was undone after all",
		},
		[]string{ // orders of people
			"a run cancelled", "a cancel came after the last success", "a cancel raced with a success", "a cancel while the run is undone",
			"a cancel while a compensation waits for its retry", "a cancel of a paused run", "a cancel of a run with parked steps",
			"a run aborted", "an abort took a task away", "an abort during a compensation", "a run was paused",
			"a pause while the run is undone", "a timer came due during a pause", "a deadline was reached",
			"a letter parked", "one of two parked steps is answered", "a parked step was redriven", "a parked step was given up",
			"a redrive brought a new input", "a letter failure", "an unhandled failure was redriven", "a letter finally",
			"a retry was refused", "a run was retried after undoing", "a retried run succeeded", "an order changed nothing",
		},
	)
}

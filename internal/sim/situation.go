package sim

// Situations are the marks: what is worth reaching, each by some of the first 500 seeds.
func Situations() []string {
	return []string{
		// what befalls processes
		"a crash between claim and outcome", "a crash after Claim was carried out", "a crash after Settle was carried out",
		"a process was proved dead", "a process left politely", "the answer of a claim was lost", "the answer of a commit was lost",
		"a lost answer was asked for", "a settlement lost to another", "a settlement was skewed", "several outcomes in one settlement",
		"a start was repeated", "a start handed over a task", "a start was put off", "the tasks of a lost claim were asked for", "an event was told twice",

		// attempts
		"a task was handed over", "a task was tried again", "an attempt was lost", "a lease was lost while stopping",
		"a success came too late", "an answer came twice", "an attempt was released",
		"an attempt ran out of time", "a handler panicked", "an outcome stays unknown",

		// stopping
		"a held task was told to stop", "a task that nobody held was stopped", "a task was stopped before anybody took it",
		"a holder heeded a stop", "a success while stopping", "a failure while stopping",

		// flow
		"a step was visited again", "a composite was tried again", "a composite ran out of time",
		"a composite ran out of time while a child stopped", "a superseded step failed", "a failure join_short",
		"a failure tolerate_exceeded", "a failure loop_limit", "a failure expression", "a run succeeded", "a run failed",
	}
}

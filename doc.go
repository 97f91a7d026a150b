// Package millrace is a durable workflow engine: what a Go program uses of it.
//
// Nouns: a workflow is a definition of steps, registered once under a name and version; a run is one execution of it, kept
// in a store and carried on by whichever process is alive; a task is a step that somebody must execute, and a [Handler]
// executes the tasks that carry its name; an [Engine] is this process at work; a [Client] looks at runs and executes nothing.
//
// A program opens a store, tells an engine what it serves, and runs it:
//
//	db, err := sqlite.Open(ctx, "orders.db", sqlite.Options{})
//	reserve := millrace.NewHandler("stock.reserve", func(ctx context.Context, o Order) (Reservation, error) { ... })
//	engine, err := millrace.New(db, millrace.Config{Handlers: []millrace.Handler{reserve}})
//	_, err = engine.Register(ctx, def)           // of workflow.Read or workflow.NewBuilder
//	run, err := engine.Start(ctx, millrace.StartRequest{Workflow: "order", Key: "order-17", Input: order})
//	err = engine.Run(ctx)                        // until ctx ends
//
// What a handler returned is recorded before the next step begins; a process that dies in the middle is noticed, and its
// tasks are tried again elsewhere. So a handler may be called more than once for one task: [Info] gives it a key that is the
// same each time. A handler says how it failed with [Fail], [Permanent] and [RetryAfter]; any other error is tried again by
// the policy of the step.
//
// It imports internal/engine, store, machine, workflow and expr.
package millrace

package millrace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store/memory"
	"github.com/millrace-go/millrace/workflow"
)

// A program that registers a workflow, starts a run of it, and executes it. A real one keeps its runs in store/sqlite.
func Example() {
	type Order struct {
		Customer string
		Lines    []string
	}
	type Reservation struct {
		Customer string
		Parcels  int
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })

	reserve := millrace.NewHandler("stock.reserve", func(_ context.Context, o Order) (Reservation, error) {
		return Reservation{Customer: o.Customer, Parcels: len(o.Lines)}, nil
	})
	notify := millrace.NewHandler("notify", func(ctx context.Context, r Reservation) (string, error) {
		info, _ := millrace.Info(ctx)
		fmt.Printf("%s, attempt %d: %d parcels for %s\n", info.Path, info.Attempt, r.Parcels, r.Customer)
		stop() // nothing more to do: Run settles what is finished and returns
		return "sent", nil
	})
	engine, err := millrace.New(db, millrace.Config{Handlers: []millrace.Handler{reserve, notify}})
	if err != nil {
		log.Fatal(err)
	}
	order, err := workflow.NewBuilder("order", 1).Steps(workflow.SequenceOf(
		workflow.NewTask("reserve", "stock.reserve"),
		workflow.NewTask("tell", "notify"),
	)).Build()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := engine.Register(ctx, order); err != nil {
		log.Fatal(err)
	}
	run, err := engine.Start(ctx, millrace.StartRequest{
		Workflow: "order", Key: "order-17", Input: Order{Customer: "Ada", Lines: []string{"tea", "milk"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.Run(ctx); err != nil {
		log.Fatal(err)
	}
	view, err := millrace.NewClient(db).Show(context.Background(), millrace.DefaultTenant, run.RunID, millrace.ShowOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Status)
	// Output:
	// tell, attempt 1: 2 parcels for Ada
	// succeeded
}

// A key makes a start safe to repeat: the same key and input give the same run.
func ExampleEngine_Start() {
	ctx := context.Background()
	db := memory.New(func() machine.Time { return machine.TimeOf(time.Now()) })
	engine, err := millrace.New(db, millrace.Config{})
	if err != nil {
		log.Fatal(err)
	}
	def, err := workflow.NewBuilder("greet", 1).Steps(workflow.SequenceOf(workflow.NewTask("greet", "greet"))).Build()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := engine.Register(ctx, def); err != nil {
		log.Fatal(err)
	}
	first, _ := engine.Start(ctx, millrace.StartRequest{Workflow: "greet", Key: "ada", Input: "hello"})
	again, _ := engine.Start(ctx, millrace.StartRequest{Workflow: "greet", Key: "ada", Input: "hello"})
	_, err = engine.Start(ctx, millrace.StartRequest{Workflow: "greet", Key: "ada", Input: "good-bye"})
	fmt.Println(first.Created, again.Created, first.RunID == again.RunID, errors.Is(err, millrace.ErrConflict))
	// Output: true false true true
}

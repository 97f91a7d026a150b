package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

const day = 24 * time.Hour

// wholeFormat builds what testdata/valid/whole.yaml says.
func wholeFormat() *workflow.Builder {
	patient := workflow.RetryPolicy{Attempts: 10_000, Delay: 5 * time.Minute, Factor: 2, MaxDelay: 5 * time.Minute, Jitter: 0.2, For: day, Except: []string{"declined", "http_4xx"}}
	return workflow.NewBuilder("whole", 2).Title("All of the format").Label("team", "billing").Input(json.RawMessage(`{"type":"object"}`)).
		Var("payments", "", "https://payments.test/v2").Var("region", "", nil).Var("limits", "how many of each", map[string]int{"eu": 3}).Var("plain", "", 5).
		Defaults(workflow.NewShell("", "").Attempts(3).Timeout(30*time.Second).Queue("mail").Env(map[string]any{"LANG": "C", "WHO": "${ input.who }"})).
		Deadline(90*day).OnFailure(workflow.Park).OnCompensationFailure(workflow.ContinueUndoing).
		Compensation("release", true, workflow.NewTask("", "stock.release").With(map[string]any{"k": "${ step.key }", "why": "${ error.code }"})).
		Steps(workflow.GraphOf(
			workflow.NewTask("reserve", "stock.reserve").CompensateBy("release").CompensateUnknown(false).Heartbeat(time.Hour),
			workflow.NewTask("hold", "stock.hold").After("reserve").CompensateBy("release").Attempts(1).Timeout(5*time.Second).Queue("default"),
			workflow.NewHTTP("charge", "POST", "${ vars.payments }/charges").After("hold").Query("b", 1).Query("a", "${ vars.plain }").
				Header("Authorization", "Bearer ${ secrets.payments }").Header("Accept", "application/json").
				JSON(map[string]string{"amount": "${ steps.reserve.output.total }"}).Expect(201).Codes(map[int]string{402: "declined"}).Full().
				Retry(patient).Concurrency("${ input.customer }", 2).Rate("charges", 100, time.Minute).
				Compensate(workflow.NewHTTP("", "DELETE", "${ vars.payments }/charges/${ step.key }").Form("id", "${ step.output?.id }").Expect(204, 404).Attempts(20)).
				Catch(workflow.Inside("", workflow.One(workflow.NewSet("", map[string]bool{"paid": false}))).Only("declined")),
			workflow.NewSavepoint("mark").After("charge"),
			workflow.NewApprove("review", "Ship ${ run.key }?", "${ input.manager }", "shipping").After("mark").
				Ask(json.RawMessage(`{"type":"object","required":["ticket"],"properties":{"ticket":{"type":"string"}}}`)).Within(day).Remind(4*time.Hour).
				Notify(workflow.NewTask("", "chat.post").With(map[string]string{"text": "${ approval.title } ${ steps.charge.output.paid }"})).
				Catch(workflow.GoTo("", "withdrawn").Only("rejected", "timeout")),
			workflow.NewAwaitAll("heard", workflow.Event{Name: "goods.arrived"}, workflow.Event{Name: "invoice.paid", Key: "${ run.key }"}).After("review").Within(7*day),
			workflow.NewAwaitAny("either", workflow.Event{Name: "a"}, workflow.Event{Name: "b"}).After("review"),
			workflow.NewAwait("one", workflow.Event{Name: "card.updated", Key: "${ run.id }"}).After("heard", "either").OnError(workflow.OnErrorContinue),
			workflow.NewEmit("tell", workflow.Event{Name: "order.paid", Key: "k"}).Data(map[string]int{"n": 1}).ToRun("${ input.run }").After("one"),
			workflow.NewCall("child", "invoice").ChildVersion(2).ChildKey("${ input.number }").ChildLabels(map[string]string{"month": "${ input.month }"}).Detach().
				After("tell").With(map[string]int{"a": 1}),
			workflow.NewCall("file", "./sub/invoice.yaml").After("tell"),
			workflow.NewShell("sum", "echo hello").After("child", "file").Env(map[string]any{"WHO": "me", "TOKEN": "${ secrets.token }"}),
			workflow.NewTask("again", "t").After("sum").Catch(workflow.GoTo("", "raise").Only("passing")),
			workflow.NewFail("raise", "${ error.code }", "again"),
			workflow.NewEnd("withdrawn").Output(map[string]string{"day": "${ run.created_at[:10] }", "team": "${ run.labels.team }"}),
		)).
		Output(map[string]string{"id": "${ steps.charge.output.id }", "spawned": "${ steps.again.children }"}).
		Finally(workflow.SequenceOf(
			workflow.NewRun("note", "./note.sh", "${ run.ending }", "${ error?.message }", "${ steps.charge.output?.id }"),
			workflow.NewTask("", "mail.send").CompensateBy("release"),
		))
}

// D6: the builder and the reader give the same value of everything that the format has.
func TestTheBuilderKnowsTheWholeFormat(t *testing.T) {
	t.Parallel()
	built, err := wholeFormat().Build()
	if err != nil {
		t.Fatal(err)
	}
	read := readFile(t, "testdata/valid/whole.yaml")
	if diff := cmp.Diff(flatten(read), flatten(built), sameValue); diff != "" {
		t.Errorf("-read +built:\n%s", diff)
	}
	if len(built.NotYet()) != len(read.NotYet()) || built.NotYet()[0].File == "" {
		t.Errorf("not yet: %v\n%v", built.NotYet(), read.NotYet())
	}
	steps := draw.Text(read, nil)
	if draw.Text(built, nil) != steps {
		t.Error("the drawings differ")
	}
}

func TestTheBuilderTellsAnotherRunByItsKey(t *testing.T) {
	t.Parallel()
	built, err := workflow.NewBuilder("w", 1).Steps(workflow.SequenceOf(
		workflow.NewEmit("", workflow.Event{Name: "e"}).ToKey("order", "${ input.key }"),
		workflow.NewHTTP("", "PUT", "https://example.org").Content("${ prev }"),
	)).Build()
	if err != nil {
		t.Fatal(err)
	}
	to := built.Steps[0].Action.(*workflow.Emit).To
	if to.Workflow != "order" || string(to.Key.Raw()) != `"${ input.key }"` || to.Run != nil {
		t.Errorf("told to %+v", to)
	}
	if body := built.Steps[1].Action.(*workflow.HTTP).Body; string(body.Raw()) != `"${ prev }"` {
		t.Errorf("body %s", body.Raw())
	}
}

func TestMistakesOfTheWholeFormatNameTheirPart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b    *workflow.Builder
		want string
	}{
		"a default that cannot be written": {workflow.NewBuilder("w", 1).Var("v", "", func() {}), "/vars/v/default: the value cannot be written as JSON"},
		"a header of a task":               {workflow.NewBuilder("w", 1).Steps(workflow.GraphOf(workflow.NewTask("a", "t").Header("A", "b"))), "/steps/a/headers: `headers` is not a key of a step"},
		"a query that cannot be written":   {workflow.NewBuilder("w", 1).Steps(workflow.GraphOf(workflow.NewHTTP("a", "GET", "https://a.test").Query("q", func() {}))), "/steps/a/http/query/q: the value"},
		"a compensation that is none":      {workflow.NewBuilder("w", 1).Steps(workflow.GraphOf(workflow.NewTask("a", "t").Compensate(workflow.NewSet("", map[string]int{})))), "/steps/a/compensate/set: `set` is not a key of a compensation"},
	} {
		_, err := c.b.Build()
		var mistakes *workflow.Mistakes
		if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

package millrace

import (
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// What a run can wait for.
const (
	ForTime   = "time"   // a wait, a delay
	ForRetry  = "retry"  // the next attempt
	ForWorker = "worker" // somebody who serves the step
)

// waits says what the run waits for: delayed tasks, tasks that nobody holds, timers. They are ordered by path.
func waits(t *tree, run *machine.Run, timers []store.Timer) []WaitView {
	if run.Status.Ended() {
		return nil
	}
	var out []WaitView
	for _, task := range t.tasks {
		if w, ok := taskWait(t, run, task); ok {
			out = append(out, w)
		}
	}
	for _, timer := range timers {
		if w, ok := timerWait(t, timer); ok {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b WaitView) int { return comparePaths(a.Path, b.Path) })
	return out
}

func taskWait(t *tree, run *machine.Run, task store.Live) (WaitView, bool) {
	w := WaitView{Path: task.Path, Since: moment(task.ReadyAt)}
	switch {
	case task.State == store.Delayed && task.Attempt > 0:
		w.For, w.Until = ForRetry, moment(task.Due)
		if h := t.hist.steps[task.Path]; h != nil {
			w.Since = moment(h.finished)
		}
	case task.State == store.Delayed:
		w.For, w.Until, w.Since = ForTime, moment(task.Due), nil
	case task.State == store.Ready:
		w.For, w.Needs, w.Handler = ForWorker, needs(run, task), task.Lane.Handler
	default:
		return w, false
	}
	return w, true
}

// needs names who could execute a ready task.
func needs(run *machine.Run, task store.Live) string {
	if task.Lane.Handler == machine.CommandHandler(run.Home) {
		return "a process that runs the workflow's commands: " + server(run)
	}
	return "a worker that serves the handler " + task.Lane.Handler
}

// server says which command serves the commands of a run.
func server(run *machine.Run) string {
	host, folder, isPlace := strings.Cut(run.Home, ":/")
	ending := run.ID[max(0, len(run.ID)-8):]
	switch {
	case strings.HasPrefix(run.Home, "run:"): // what `millrace run` has begun is kept for who drives it
		return "`millrace resume " + ending + "`"
	case isPlace:
		return "`millrace worker` in /" + folder + " on " + host + ", or `millrace resume " + ending + "`"
	}
	return "`millrace worker --home " + run.Home + "`, or `millrace resume " + ending + "`"
}

// timerWait finds the activation whose timer it is (its key is the activation's path, an exclamation mark and what it is
// for). Timers of what runs meanwhile, such as a timeout, are not waited for.
func timerWait(t *tree, timer store.Timer) (WaitView, bool) {
	i := strings.LastIndexByte(timer.Key, '!')
	if i < 0 {
		return WaitView{}, false
	}
	if i == 0 { // the run's own: it begins then
		return WaitView{For: ForTime, Since: moment(t.run.CreatedAt), Until: moment(timer.Due)}, timer.Key == "!start"
	}
	n := t.index[timer.Key[:i]]
	if n == nil {
		n = t.around(timer.Key[:i])
	}
	if n == nil {
		return WaitView{}, false
	}
	w := WaitView{Path: n.Path, Until: moment(timer.Due)}
	switch timer.Key[i+1:] {
	case "wait", "delay", "every":
		w.For, w.Since = ForTime, waitingSince(n.step, timer.Due)
	case "retry":
		w.For = ForRetry
	default:
		return w, false
	}
	n.Due = w.Until
	return w, true
}

func waitingSince(step *workflow.Step, due machine.Time) *time.Time {
	if a, ok := step.Action.(*workflow.Wait); ok && a.For > 0 {
		return moment(due.Add(-a.For))
	}
	return nil
}

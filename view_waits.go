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
	ForPause  = "pause"  // somebody who lifts a pause: of the run, or of what the step belongs to
	ForPerson = "person" // somebody who decides
)

// waits says what the run waits for: delayed tasks, tasks that nobody holds, timers, people. They are ordered by path.
func waits(t *tree, l *live) []WaitView {
	if t.run.Status.Ended() {
		return nil
	}
	var out []WaitView
	if p := t.hist.order.pause; t.run.Status == machine.Paused && p != nil {
		out = append(out, WaitView{For: ForPause, Since: moment(p.at), Needs: "`millrace resume " + ending(t.run.ID) + "`"})
	}
	for _, task := range t.tasks {
		if w, ok := taskWait(t, l, task); ok {
			out = append(out, w)
		}
	}
	for _, timer := range l.timers {
		if w, ok := timerWait(t, timer); ok {
			out = append(out, w)
		}
	}
	for _, r := range l.letters {
		if r.Kind != machine.LetterParked && r.Kind != machine.LetterCompensation {
			continue // nothing of the run waits for an answer
		}
		out = append(out, WaitView{Path: r.Path, For: ForPerson, Since: r.CreatedAt, Needs: "`" + r.Help + "`"})
	}
	slices.SortStableFunc(out, func(a, b WaitView) int { return comparePaths(a.Path, b.Path) })
	return out
}

func taskWait(t *tree, l *live, task store.Live) (WaitView, bool) {
	w := WaitView{Path: task.Path, Since: moment(task.ReadyAt)}
	switch {
	case task.State == store.Delayed && task.Attempt > 0:
		w.For, w.Until = ForRetry, moment(task.Due)
		if h := t.hist.activity(task.Path); h != nil {
			w.Since = moment(h.finished)
		}
	case task.State == store.Delayed:
		w.For, w.Until, w.Since = ForTime, moment(task.Due), nil
	case task.State == store.Ready && task.Lane.Paused:
		w.For, w.Needs = ForPause, lifts(l.pauses, task.Lane)
	case task.State == store.Ready:
		w.For, w.Needs, w.Handler = ForWorker, needs(t.run, task), task.Lane.Handler
	default:
		return w, false
	}
	return w, true
}

// lifts gives the command that lifts a pause of a lane.
func lifts(pauses []store.Pause, lane store.Lane) string {
	for _, p := range pauses {
		switch {
		case p.Kind == store.PauseWorkflow && p.Name == lane.Workflow, p.Kind == store.PauseQueue && p.Name == lane.Queue:
			return "`millrace resume " + string(p.Kind) + ":" + p.Name + "`"
		case p.Kind == store.PauseTenant:
			return "`millrace resume tenant:" + lane.Tenant + "`"
		}
	}
	return ""
}

// needs names who could execute a ready task.
func needs(run *machine.Run, task store.Live) string {
	if task.Lane.Handler == machine.CommandHandler(run.Home) {
		return "a process that runs the workflow's commands: " + server(run)
	}
	if task.Lane.Handler == machine.HTTPHandler {
		return "a process that makes requests: `millrace worker`, or `millrace resume " + ending(run.ID) + "`"
	}
	return "a worker that serves the handler " + task.Lane.Handler
}

// server says which command serves the commands of a run.
func server(run *machine.Run) string {
	host, folder, isPlace := strings.Cut(run.Home, ":/")
	ending := ending(run.ID)
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
		return WaitView{For: ForTime, Since: moment(t.run.CreatedAt), Until: moment(timer.Due)}, timer.Key == machine.TimerStart
	}
	n := t.index[timer.Key[:i]]
	if n == nil {
		n = t.around(timer.Key[:i])
	}
	if n == nil {
		return WaitView{}, false
	}
	w := WaitView{Path: n.Path, Until: moment(timer.Due)}
	switch timer.Key[i:] {
	case machine.TimerWait, machine.TimerDelay, machine.TimerEvery:
		w.For, w.Since = ForTime, waitingSince(n.step, timer.Due)
	case machine.TimerRetry:
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

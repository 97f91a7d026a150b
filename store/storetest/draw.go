package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// What Model draws comes from few names, so that commands meet. Times are made unique, where two stores may order equal ones
// differently: ranks and timers by a count of microseconds in their 2 s, leases by half a millisecond beside a clock that
// moves by whole ones.
const (
	odd    = 500 * time.Microsecond
	period = machine.Time(2 * time.Second / time.Microsecond)
)

var (
	handlers  = []string{"h1", "h2", "h3"}
	queues    = []string{queue, "other"}
	taskPaths = []string{"a", "b", "s/x", "m[0]", "m[1]/y"}
	docPaths  = []string{"s", "m[0]", "m[1]", "m[0:]", "s/t"}
)

func drawTenant(rt *rapid.T) string {
	if chance(rt, 4) {
		return stranger
	}
	return tenant
}

// chance is true once in n times.
func chance(rt *rapid.T, n int) bool { return rapid.IntRange(1, n).Draw(rt, "chance") == n }

func drawWorkflow(rt *rapid.T) store.Workflow {
	doc := rapid.SampledFrom([]string{`1`, `2`, `3`}).Draw(rt, "document")
	return store.Workflow{
		Tenant: drawTenant(rt), Name: rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "name"),
		Version: rapid.IntRange(0, 3).Draw(rt, "version"), Hash: sha256.Sum256([]byte(doc)), Doc: []byte(doc),
	}
}

// drawRun gives the id of a run, or of none.
func (p *pair) drawRun(rt *rapid.T) string {
	if len(p.ids) == 0 || chance(rt, 10) {
		return runID(1 << 20)
	}
	return rapid.SampledFrom(p.ids).Draw(rt, "run")
}

// drawRuns gives the ids of up to three runs.
func (p *pair) drawRuns(rt *rapid.T) []string {
	if len(p.ids) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(p.ids), 1, min(3, len(p.ids)), rapid.ID[string]).Draw(rt, "runs")
}

// drawStart gives the start of a new run, or now and then again of one that was asked for: ids follow the time at which runs are
// made, also of those that were refused at first.
func (p *pair) drawStart(rt *rapid.T) store.Start {
	id := runID(len(p.ids) + 1)
	if len(p.ids) > 0 && chance(rt, 10) {
		id = rapid.SampledFrom(p.ids).Draw(rt, "run")
	} else {
		p.ids = append(p.ids, id)
		p.made[id] = p.now
	}
	r := &machine.Run{
		Header: machine.Header{
			ID: id, Tenant: drawTenant(rt), Workflow: workflow, Version: 1, MachineVersion: machine.Version, CreatedAt: p.made[id],
			Key: rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(rt, "key"),
		},
		Status: machine.Running, StartedAt: p.now,
		Root: &machine.Scope{States: machine.States{machine.StepReady}, Run: &machine.RunDoc{}},
	}
	st := store.Start{Settlement: p.drawFrom(rt, store.RunState{Run: r})}
	st.KeyHash[0] = byte(rapid.IntRange(0, 1).Draw(rt, "hash"))
	return st
}

// drawSettlement gives one of a run as the model has it, which now and then is stale.
func (p *pair) drawSettlement(rt *rapid.T, state store.RunState) store.Settlement {
	st := p.drawFrom(rt, state)
	if chance(rt, 10) {
		st.From--
	}
	for _, t := range p.tasksOf(state.Run.ID) {
		if !chance(rt, 3) {
			continue
		}
		g := store.Guard{Path: t.Path, Token: t.Token, Remove: rapid.Bool().Draw(rt, "remove")}
		if chance(rt, 10) {
			g.Token++
		}
		st.Guards = append(st.Guards, g)
	}
	if chance(rt, 3) {
		st.Timers = []string{drawTimerKey(rt)}
	}
	return st
}

// drawFrom gives what any settlement holds: one or two entries, documents, effects and a hand-over.
func (p *pair) drawFrom(rt *rapid.T, state store.RunState) store.Settlement {
	after := *state.Run.Saved()
	after.At = p.now
	st := store.Settlement{Run: &after, From: state.Version, At: p.now}
	for range rapid.IntRange(1, 2).Draw(rt, "entries") {
		after.Seq++
		st.Entries = append(st.Entries, p.drawEntry(rt, after.Seq))
	}
	for range rapid.IntRange(0, 2).Draw(rt, "documents") {
		p.drawDocument(rt, &after)
	}
	for range rapid.IntRange(0, 4).Draw(rt, "effects") {
		effects(&st, p.drawEffect(rt))
	}
	p.drawStatus(rt, &st)
	if chance(rt, 20) {
		st.At = st.At.Add(time.Minute)
	}
	if chance(rt, 2) {
		p.tokens++
		st.Hand = store.HandOver{
			Owner: owner, Token: p.tokens, Lease: 20*time.Second + odd, Limit: rapid.IntRange(0, 3).Draw(rt, "room"),
			Handlers: rapid.SliceOfDistinct(rapid.SampledFrom(handlers), rapid.ID[string]).Draw(rt, "handlers"),
		}
	}
	return st
}

// drawStatus ends the run now and then. One that has ended goes on, ends again, or is only told something late.
func (p *pair) drawStatus(rt *rapid.T, st *store.Settlement) {
	after := st.Run
	switch {
	case chance(rt, 10):
		after.Status, after.FinishedAt = machine.Failed, p.now
		effects(st, machine.EndRun{
			Status: machine.Failed, Error: &machine.Error{Code: "exit_1", Data: json.RawMessage(`[1.0]`)},
			Keep: rapid.Bool().Draw(rt, "keep"),
		})
	case !after.Status.Ended():
		after.Status = rapid.SampledFrom([]machine.Status{machine.Running, machine.Paused, machine.Stopping}).Draw(rt, "status")
	case chance(rt, 2):
		after.Status, after.FinishedAt = machine.Compensating, 0
	}
}

func (p *pair) drawEntry(rt *rapid.T, seq int64) store.Entry {
	e := store.Entry{
		Seq: seq, At: p.now, Kind: machine.TaskSucceeded, Path: rapid.SampledFrom(taskPaths).Draw(rt, "path"), Attempt: 1,
		Cause: seq - 1, Name: "n", Key: "é", Payload: json.RawMessage(fmt.Sprintf(`{"n": %d.0}`, seq)),
	}
	if chance(rt, 4) {
		e.Payload, e.Facts = nil, json.RawMessage(`{"by": "<me>"}`)
	}
	if chance(rt, 40) {
		e.Payload = json.RawMessage(`"\u0000"`)
	}
	return e
}

func (p *pair) drawDocument(rt *rapid.T, r *machine.Run) {
	path := rapid.SampledFrom(docPaths).Draw(rt, "document")
	doc := rapid.SampledFrom([]string{"", `{"s":"p1"}`, `{"s":"s2f1"}`}).Draw(rt, "content")
	var raw []byte
	if doc != "" {
		raw = []byte(doc)
	}
	r.Scopes, r.Chunks = maps.Clone(r.Scopes), maps.Clone(r.Chunks)
	if err := r.Put(path, raw); err != nil {
		rt.Fatal(err)
	}
	r.Touch(path)
}

func drawTimerKey(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(rt, "timer")
}

// moment gives a time in the period so many after the clock's that no other call gives in any.
func (p *pair) moment(periods int) machine.Time {
	p.marks++
	return p.now/period*period + machine.Time(periods)*period + machine.Time(p.marks)
}

func (p *pair) drawEffect(rt *rapid.T) machine.Effect {
	later := rapid.SampledFrom([]int{-1, -1, -1, 1, 5}).Draw(rt, "periods ahead")
	switch rapid.IntRange(0, 12).Draw(rt, "effect") {
	case 0:
		return machine.StopTask{Path: rapid.SampledFrom(taskPaths).Draw(rt, "path")}
	case 1:
		return machine.SetTimer{Key: drawTimerKey(rt), Due: p.moment(later)}
	case 2:
		return machine.CancelTimer{Key: drawTimerKey(rt)}
	case 3:
		return put("v", rapid.IntRange(0, 7).Draw(rt, "index"), `{"v": 1.50}`)
	case 4, 5:
		return drawLetter(rt)
	case 6:
		return machine.HoldTasks{}
	case 7:
		return machine.FreeTasks{}
	default:
		return machine.StartTask{
			Path: rapid.SampledFrom(taskPaths).Draw(rt, "path"), Queue: rapid.SampledFrom(queues).Draw(rt, "queue"),
			Handler: rapid.SampledFrom(handlers).Draw(rt, "handler"), Priority: rapid.IntRange(-1, 2).Draw(rt, "priority"),
			Due: p.moment(later), Attempt: rapid.IntRange(0, 2).Draw(rt, "attempt"),
			Lease: rapid.SampledFrom([]int64{0, 0, 45_001}).Draw(rt, "lease"), Held: chance(rt, 4),
			Env: machine.Env{Input: machine.Data{Kind: machine.ByRef, Ref: machine.Ref{Seq: 1}}},
			Refs: []machine.Ref{
				{Seq: int64(rapid.IntRange(1, 5).Draw(rt, "entry"))}, {Key: "v", Index: rapid.IntRange(0, 7).Draw(rt, "index")},
			},
		}
	}
}

func drawPause(rt *rapid.T) store.Pause {
	pause := store.Pause{Tenant: drawTenant(rt), By: "me", Reason: "é"}
	pause.Kind = rapid.SampledFrom([]store.PauseKind{store.PauseWorkflow, store.PauseQueue, store.PauseTenant}).Draw(rt, "kind")
	switch pause.Kind {
	case store.PauseWorkflow:
		pause.Name = rapid.SampledFrom([]string{workflow, "none"}).Draw(rt, "name")
	case store.PauseQueue:
		pause.Name = rapid.SampledFrom(queues).Draw(rt, "name")
	case store.PauseTenant:
	}
	return pause
}

func (p *pair) drawPrune(rt *rapid.T) store.PruneOrder {
	o := store.PruneOrder{
		Tenant: drawTenant(rt), EveryTenant: chance(rt, 3), DryRun: chance(rt, 5),
		Limit:  rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "limit"),
		Before: map[machine.Status]machine.Time{machine.Failed: p.now.Add(rapid.SampledFrom(ages).Draw(rt, "age"))},
	}
	if chance(rt, 10) {
		o.Before[machine.Running] = p.now
	}
	return o
}

// ages are how far from now the end of a run may be: some have ended just now.
var ages = []time.Duration{time.Hour, 0, -time.Second, -time.Minute}

// drawLetter opens or closes one of few letters.
func drawLetter(rt *rapid.T) machine.Effect {
	kind := rapid.SampledFrom([]machine.LetterKind{machine.LetterParked, machine.LetterFinally}).Draw(rt, "kind")
	path := rapid.SampledFrom(taskPaths[:2]).Draw(rt, "path")
	switch rapid.IntRange(0, 4).Draw(rt, "letter") {
	case 0:
		return closing("", path, machine.LetterSuperseded)
	case 1:
		return closing(kind, path, rapid.SampledFrom([]machine.LetterState{
			machine.LetterRedriven, machine.LetterDropped, machine.LetterOpen,
		}).Draw(rt, "how"))
	default:
		code := rapid.SampledFrom([]string{"exit_1", "exit_2"}).Draw(rt, "code")
		return machine.OpenLetter{Kind: kind, Path: path, Error: &machine.Error{Code: code, Message: "<é>"}}
	}
}

func (p *pair) drawClaim(rt *rapid.T) store.Claim {
	p.tokens++
	return store.Claim{
		Owner: owner, Token: p.tokens, Limit: rapid.IntRange(1, 8).Draw(rt, "limit"),
		Lease: rapid.SampledFrom([]time.Duration{5*time.Second + odd, 30*time.Second + odd}).Draw(rt, "lease"),
	}
}

func (p *pair) drawMessage(rt *rapid.T) store.Message {
	m := store.Message{
		Tenant: drawTenant(rt), RunID: p.drawRun(rt), ID: rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(rt, "id"),
		Event: machine.Event{Kind: machine.EventReceived, Name: "paid", Key: "k", Payload: json.RawMessage(`{"n": 1.0}`)},
	}
	if chance(rt, 20) {
		m.Event.Payload = json.RawMessage(`{`)
	}
	return m
}

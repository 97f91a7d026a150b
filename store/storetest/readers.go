package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of readers hold O1, O3 and what lists owe.
var readerTrials = []trial{
	{name: "a state brings the documents that are asked for", hold: readState},
	{name: "payloads are read by entry and by value", hold: readPayloads},
	{name: "tasks are read by path", hold: readTasks},
	{name: "a journal is read in pages", hold: readJournal},
	{name: "large entries fill a page", hold: readLargeEntries},
	{name: "runs are listed newest first, in pages", hold: readRuns},
	{name: "runs are filtered", hold: readFilters},
	{name: "runs of several rare statuses are one list", hold: readRare},
	{name: "letters are listed newest first", hold: readLetters},
	{name: "what does not exist is not found", hold: readNothing},
}

func readState(f *fixture) {
	r := f.begin()
	st := f.next(r)
	for _, path := range []string{"s", "s/t", "sx", "m[0]", "m[0:]", "m[10]/x"} {
		f.document(st.Run, path, `{"s":"p1"}`)
	}
	f.win(r, st)
	tests := []struct {
		scopes, under []string
		want          []string // "!" in front: known not to exist
	}{
		{nil, nil, nil},
		{[]string{"s", "none", "m[0:]", "m[256:]"}, nil, []string{"!m[256:]", "!none", "m[0:]", "s"}},
		{nil, []string{"s"}, []string{"s", "s/t", "sx"}},
		{nil, []string{"s/", "m["}, []string{"m[0:]", "m[0]", "m[10]/x", "s/t"}},
		{[]string{"none"}, []string{"m[0"}, []string{"!none", "m[0:]", "m[0]"}},
		{nil, []string{""}, []string{"m[0:]", "m[0]", "m[10]/x", "s", "s/t", "sx"}},
		{nil, []string{"%", "_"}, nil},
	}
	for _, test := range tests {
		got, err := f.s.State(f.ctx, tenant, r.ID, test.scopes, test.under)
		f.must(err)
		f.equal(fmt.Sprint(test.scopes, test.under), documents(got.Run), test.want)
		f.equal("root", got.Run.Root, r.Root)
	}
}

// documents gives the paths of the loaded documents, those known not to exist with "!" in front.
func documents(r *machine.Run) []string {
	found := map[string]bool{}
	for path, doc := range r.Scopes {
		found[path] = doc != nil
	}
	for path, doc := range r.Chunks {
		found[path] = doc != nil
	}
	return marked(found)
}

func readPayloads(f *fixture) {
	r := f.begin(put("m", 3, `3`))
	f.advance(r)
	st := f.next(r)
	st.Entries[0].Payload = nil
	f.win(r, st)
	ref := machine.Ref{Key: "m", Index: 3}
	got, err := f.s.Payloads(f.ctx, tenant, r.ID, []machine.Ref{{Seq: 1}, {Seq: 2}, {Seq: 3}, {Seq: 4}, ref, {Key: "m", Index: 4}, {Key: "2"}})
	f.must(err)
	f.equal("payloads", got, map[machine.Ref]json.RawMessage{
		{Seq: 1}: json.RawMessage(`{"n":1}`), {Seq: 2}: json.RawMessage(`{"entry":2}`), ref: json.RawMessage(`3`),
	})
	got, err = f.s.Payloads(f.ctx, tenant, r.ID, nil)
	f.must(err)
	f.equal("none", len(got), 0)
}

func readTasks(f *fixture) {
	r := f.begin(task("b"), task("a"), task("m[10]"), task("m[2]"))
	f.begin(task("a"))
	f.equal("all", f.taskPaths(r), []string{"a", "b", "m[10]", "m[2]"})
	got, err := f.s.Tasks(f.ctx, tenant, r.ID, []string{"m[2]", "none", "a"})
	f.must(err)
	f.equal("some", len(got), 2)
	f.equal("some", []string{got[0].Path, got[1].Path}, []string{"a", "m[2]"})
	got, err = f.s.Tasks(f.ctx, tenant, r.ID, []string{})
	f.must(err)
	f.equal("none", len(got), 0)
}

// O1
func readJournal(f *fixture) {
	r := f.begin()
	for range 4 {
		f.advance(r)
	}
	all := f.journal(r)
	f.equal("length", len(all), 5)
	for i, e := range all {
		f.equal("number", e.Seq, int64(i+1))
	}
	for after := range int64(7) {
		got, err := f.s.Journal(f.ctx, tenant, r.ID, after, 2)
		f.must(err)
		f.equal(fmt.Sprint("after ", after), got, all[min(after, 5):min(after+2, 5)])
	}
}

// O1
func readLargeEntries(f *fixture) {
	r := f.begin()
	st := f.next(r)
	large := json.RawMessage(`"` + strings.Repeat("x", store.PageBytes/4) + `"`)
	for range 5 {
		e := st.Entries[0]
		e.Seq += int64(len(st.Entries))
		e.Payload, e.Facts = large, nil
		if e.Seq%2 == 0 {
			e.Payload, e.Facts = nil, large
		}
		st.Entries = append(st.Entries, e)
	}
	st.Run.Seq = st.Entries[5].Seq
	f.win(r, st)
	var pages []int
	for after := int64(0); after < st.Run.Seq; {
		page, err := f.s.Journal(f.ctx, tenant, r.ID, after, many)
		f.must(err)
		for i := range page {
			f.equal("number", page[i].Seq, after+int64(i)+1)
		}
		pages, after = append(pages, len(page)), after+int64(len(page))
		if len(page) == 0 {
			break
		}
	}
	f.equal("entries of the pages", pages, []int{6, 1})
}

// O6
func readRuns(f *fixture) {
	var want []string
	for range 5 {
		want = append([]string{f.begin().ID}, want...)
	}
	f.beginAs(stranger, "")
	before := ""
	for i := 0; i < 6; i += 2 {
		got, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Before: before, Limit: 2})
		f.must(err)
		f.equal("page", rowIDs(got), want[i:min(i+2, 5)])
		before = got[len(got)-1].ID
	}
	got, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Before: before})
	f.must(err)
	f.equal("after the last", len(got), 0)
	starts := make([]store.Start, 120)
	for i := range starts {
		starts[i] = f.start(f.newRun(tenant, ""))
	}
	_, err = f.s.Start(f.ctx, starts)
	f.must(err)
	got, err = f.s.Runs(f.ctx, store.Filter{Tenant: tenant})
	f.must(err)
	f.equal("without a limit", len(got), 100)
}

func rowIDs(rows []store.RunRow) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

// O6
func readRare(f *fixture) {
	statuses := []machine.Status{
		machine.Failed, machine.Parked, machine.Running, machine.Dead, machine.Failed, machine.Compensating, machine.Dead, machine.Parked,
	}
	runs := make([]*run, len(statuses))
	become := func(i int, status machine.Status) {
		st := f.next(runs[i])
		st.Run.Status = status
		f.win(runs[i], st)
	}
	for i, status := range statuses {
		runs[i] = f.begin()
		become(i, status)
	}
	list := func(what, before string, limit int, want []int, statuses ...machine.Status) {
		f.Helper()
		got, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Status: statuses, Before: before, Limit: limit})
		f.must(err)
		var ids []string
		for _, n := range want {
			ids = append(ids, runs[n].ID)
		}
		f.equal(what, rowIDs(got), ids)
	}
	list("one", "", 9, []int{6, 3}, machine.Dead)
	list("one, named twice", "", 9, []int{6, 3}, machine.Dead, machine.Dead)
	list("none is so", "", 9, nil, machine.Aborted)
	three := []machine.Status{machine.Dead, machine.Failed, machine.Compensating}
	list("a page", "", 2, []int{6, 5}, three...)
	list("the next page", runs[5].ID, 2, []int{4, 3}, three...)
	list("the last page", runs[3].ID, 2, []int{0}, three...)
	list("with one that is not rare", "", 9, []int{6, 3, 2}, machine.Running, machine.Dead)
	become(3, machine.Running)
	become(2, machine.Parked)
	list("one that has left", "", 9, []int{6}, machine.Dead)
	list("one that has come", "", 9, []int{7, 2, 1}, machine.Parked)
}

// O6
func readFilters(f *fixture) {
	f.register(tenant, "other")
	a := f.beginAs(tenant, "k")
	b := f.newRun(tenant, "k")
	b.Workflow, b.CreatedAt = "other", b.CreatedAt.Add(-time.Hour)
	c := f.newRun(tenant, "")
	c.Status, c.CreatedAt = machine.Pending, c.CreatedAt.Add(-2*time.Hour)
	out, err := f.s.Start(f.ctx, []store.Start{f.start(b), f.start(c)})
	f.must(err)
	f.must(errors.Join(out[0].Err, out[1].Err))
	plain := strings.ReplaceAll(b.ID, "-", "")
	tests := []struct {
		name   string
		filter store.Filter
		want   []string
	}{
		{"workflow", store.Filter{Workflow: workflow}, []string{c.ID, a.ID}},
		{"key", store.Filter{Key: "k"}, []string{b.ID, a.ID}},
		{"workflow and key", store.Filter{Workflow: "other", Key: "k"}, []string{b.ID}},
		{"status", store.Filter{Status: []machine.Status{machine.Pending, machine.Failed}}, []string{c.ID}},
		{"either status", store.Filter{Status: []machine.Status{machine.Pending, machine.Running}}, []string{c.ID, b.ID, a.ID}},
		{"ending", store.Filter{IDSuffix: plain[len(plain)-4:]}, []string{b.ID}},
		{"longer than the last group", store.Filter{IDSuffix: plain[len(plain)-15:]}, []string{b.ID}},
		{"whole id", store.Filter{IDSuffix: plain}, []string{b.ID}},
		{"no such ending", store.Filter{IDSuffix: "ffff"}, nil},
		{"since", store.Filter{Since: b.CreatedAt}, []string{b.ID, a.ID}},
		{"until", store.Filter{Until: b.CreatedAt}, []string{c.ID}},
		{"between", store.Filter{Since: c.CreatedAt, Until: a.CreatedAt}, []string{c.ID, b.ID}},
		{"no tenant", store.Filter{Tenant: "none"}, nil},
	}
	for _, test := range tests {
		if test.filter.Tenant == "" {
			test.filter.Tenant = tenant
		}
		got, err := f.s.Runs(f.ctx, test.filter)
		f.must(err)
		f.equal(test.name, rowIDs(got), test.want)
	}
	f.readFailures()
	f.readLabels()
	got, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Workflow: "other"})
	f.must(err)
	f.equal("row", got, []store.RunRow{{Header: b.Header, Status: b.Status, StateVersion: 1, Seq: 1, StartedAt: b.StartedAt}})
}

// readFailures filters by the error of runs that have failed.
func (f *fixture) readFailures() {
	f.Helper()
	failed := func(step, code string) string {
		r := f.begin()
		st := f.next(r, machine.EndRun{Status: machine.Failed, Error: &machine.Error{Code: code, Step: step}})
		st.Run.Status, st.Run.FinishedAt = machine.Failed, st.At
		f.win(r, st)
		return r.ID
	}
	one, two := failed("pay", "declined"), failed("ship", "declined")
	for _, test := range []struct {
		filter store.Filter
		want   []string
	}{
		{store.Filter{Tenant: tenant, Code: "declined"}, []string{two, one}},
		{store.Filter{Tenant: tenant, FailedAt: "pay"}, []string{one}},
		{store.Filter{Tenant: tenant, FailedAt: "pay", Code: "other"}, nil},
	} {
		got, err := f.s.Runs(f.ctx, test.filter)
		f.must(err)
		f.equal("of an error", rowIDs(got), test.want)
	}
}

// readLabels filters by labels. R6, O6
func (f *fixture) readLabels() {
	f.Helper()
	labelled := func(labels map[string]string) string {
		r := f.newRun(tenant, "")
		r.Options.Labels = labels
		started, err := f.s.Start(f.ctx, []store.Start{f.start(r)})
		f.must(err)
		f.must(started[0].Err)
		return r.ID
	}
	one := labelled(map[string]string{"team": "blue", "it's \"odd\"": "$.x"})
	two := labelled(map[string]string{"team": "blue"})
	labelled(map[string]string{"team": "green"})
	for _, test := range []struct {
		labels map[string]string
		want   []string
	}{
		{map[string]string{"team": "blue"}, []string{two, one}},
		{map[string]string{"team": "blue", "it's \"odd\"": "$.x"}, []string{one}},
		{map[string]string{"team": ""}, nil},
		{map[string]string{"nobody": "blue"}, nil},
	} {
		got, err := f.s.Runs(f.ctx, store.Filter{Tenant: tenant, Labels: test.labels})
		f.must(err)
		f.equal("labelled", rowIDs(got), test.want)
	}
}

func readLetters(f *fixture) {
	r, other := f.begin(letter("1", nil)), f.begin(letter("2", nil))
	f.advance(r, letter("3", nil))
	read := func(runID string, limit int) []string {
		got, err := f.s.Letters(f.ctx, store.LetterFilter{Tenant: tenant, RunID: runID, Limit: limit})
		f.must(err)
		var out []string
		for _, l := range got {
			out = append(out, l.Path)
		}
		return out
	}
	f.equal("all", read("", 0), []string{"3", "2", "1"})
	f.equal("of one run", read(r.ID, 0), []string{"3", "1"})
	f.equal("of the other", read(other.ID, 9), []string{"2"})
	f.equal("some", read("", 2), []string{"3", "2"})
	f.equal("of none", read(f.id(), 9), []string(nil))
}

func readNothing(f *fixture) {
	for _, id := range []string{f.id(), "not an id", ""} {
		f.unknown(tenant, id)
	}
}

// unknown asks every reader for a run that is not there for this tenant.
func (f *fixture) unknown(tenant, id string) {
	f.Helper()
	_, state := f.s.State(f.ctx, tenant, id, nil, nil)
	_, payloads := f.s.Payloads(f.ctx, tenant, id, []machine.Ref{{Seq: 1}})
	_, tasks := f.s.Tasks(f.ctx, tenant, id, nil)
	_, timers := f.s.Timers(f.ctx, tenant, id)
	_, journal := f.s.Journal(f.ctx, tenant, id, 0, 9)
	_, documents := f.s.Documents(f.ctx, tenant, id)
	for i, err := range []error{state, payloads, tasks, timers, journal, documents} {
		if !errors.Is(err, store.ErrNotFound) {
			f.Fatalf("reader %d of %q: %v, want not found", i, id, err)
		}
	}
}

package storetest

import (
	"encoding/json"
	"time"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// The trials of letters hold X9 as far as a store is concerned.
var letterTrials = []trial{
	{name: "at most one of a kind is open at a path, with the error of the last", hold: letterOnce},
	{name: "one is closed by kind and path, or all but those of finally", hold: letterClose},
	{name: "one that was closed stays, and another may be opened in its place", hold: letterAgain},
	{name: "they share the fate of their settlement", hold: letterFate},
	{name: "they are filtered", hold: letterFilters},
	{name: "they are filtered by time", hold: letterTimes, need: movesClock},
	{name: "they are listed newest first, in pages", hold: letterPages},
}

func open(kind machine.LetterKind, path, code string) machine.OpenLetter {
	return machine.OpenLetter{Kind: kind, Path: path, Error: &machine.Error{Code: code, Step: path}}
}

func closing(kind machine.LetterKind, path string, how machine.LetterState) machine.CloseLetter {
	return machine.CloseLetter{Kind: kind, Path: path, How: how}
}

// X9
func letterOnce(f *fixture) {
	other := f.begin(open(machine.LetterParked, "a", "other"))
	r := f.begin(open(machine.LetterParked, "a", "first"))
	first := f.letters(store.LetterFilter{RunID: r.ID})[0]
	f.advance(r, open(machine.LetterParked, "a", "second"), open(machine.LetterParked, "b", "b"), open(machine.LetterUnknown, "a", "c"))
	got := f.letters(store.LetterFilter{RunID: r.ID})
	f.equal("letters", codes(got), []string{"c", "b", "second"})
	first.Error = &machine.Error{Code: "second", Step: "a"}
	f.equal("the same letter", got[2], first)
	f.advance(r, machine.OpenLetter{Kind: machine.LetterParked, Path: "a"})
	f.equal("without an error", f.letters(store.LetterFilter{RunID: r.ID})[2].Error, (*machine.Error)(nil))
	f.equal("another run's", codes(f.letters(store.LetterFilter{RunID: other.ID})), []string{"other"})
}

// codes gives the codes of letters, "" for one without an error.
func codes(letters []store.Letter) []string {
	var out []string
	for _, l := range letters {
		code := ""
		if l.Error != nil {
			code = l.Error.Code
		}
		out = append(out, code)
	}
	return out
}

// X9
func letterClose(f *fixture) {
	other := f.begin(open(machine.LetterParked, "a", "other"))
	r := f.begin(
		open(machine.LetterParked, "a", "1"), open(machine.LetterParked, "b", "2"), open(machine.LetterCompensation, "a", "3"),
		open(machine.LetterFinally, "f", "4"), open(machine.LetterFailure, "", "5"),
	)
	opened := f.now()
	f.advance(r,
		closing(machine.LetterParked, "a", machine.LetterRedriven), closing(machine.LetterParked, "none", machine.LetterDropped),
		closing(machine.LetterUnknown, "a", machine.LetterDropped),
	)
	states := func() map[string]machine.LetterState {
		out := map[string]machine.LetterState{}
		for _, l := range f.letters(store.LetterFilter{RunID: r.ID}) {
			out[l.Error.Code] = l.State
			if (l.State == machine.LetterOpen) != (l.ClosedAt == 0) || l.ClosedAt != 0 && l.ClosedAt < opened {
				f.Fatalf("letter %s is %s, closed at %d", l.Error.Code, l.State, l.ClosedAt)
			}
		}
		return out
	}
	f.equal("one", states(), map[string]machine.LetterState{
		"1": machine.LetterRedriven, "2": machine.LetterOpen, "3": machine.LetterOpen, "4": machine.LetterOpen, "5": machine.LetterOpen,
	})
	f.advance(r, closing("", "", machine.LetterSuperseded))
	f.equal("all", states(), map[string]machine.LetterState{
		"1": machine.LetterRedriven, "2": machine.LetterSuperseded, "3": machine.LetterSuperseded, "4": machine.LetterOpen,
		"5": machine.LetterSuperseded,
	})
	f.advance(r, closing(machine.LetterFinally, "f", machine.LetterDropped))
	f.equal("that of finally", states()["4"], machine.LetterDropped)
	f.equal("another run's", f.letters(store.LetterFilter{RunID: other.ID})[0].State, machine.LetterOpen)
}

// X9
func letterAgain(f *fixture) {
	r := f.begin(open(machine.LetterParked, "a", "first"))
	f.advance(r, closing(machine.LetterParked, "a", machine.LetterRedriven), open(machine.LetterParked, "a", "second"))
	f.advance(r, closing(machine.LetterParked, "a", machine.LetterDropped))
	f.advance(r, closing(machine.LetterParked, "a", machine.LetterRedriven)) // closed already: no mistake, and no change
	got := f.letters(store.LetterFilter{RunID: r.ID})
	f.equal("letters", codes(got), []string{"second", "first"})
	f.equal("states", []machine.LetterState{got[0].State, got[1].State}, []machine.LetterState{machine.LetterDropped, machine.LetterRedriven})
	f.equal("ids", got[0].ID > got[1].ID, true)
	st := f.next(r, open(machine.LetterParked, "a", "third"), machine.EndRun{Status: machine.Dead, Keep: true})
	st.Run.Status = machine.Dead
	f.win(r, st)
	f.equal("after the end", codes(f.letters(store.LetterFilter{RunID: r.ID, State: machine.LetterOpen})), []string{"third"})
}

func letterFate(f *fixture) {
	r := f.begin(open(machine.LetterParked, "a", "first"))
	before := f.letters(store.LetterFilter{})
	for name, spoil := range map[string]func(*store.Settlement){
		"an old version":  func(st *store.Settlement) { st.From = 9 },
		"another time":    func(st *store.Settlement) { st.At = st.At.Add(time.Hour) },
		"refused content": func(st *store.Settlement) { effects(st, put("v", 0, `{`)) },
		"no way to close": func(st *store.Settlement) { effects(st, closing(machine.LetterParked, "a", machine.LetterOpen)) },
	} {
		st := f.next(r, open(machine.LetterParked, "a", "x"), open(machine.LetterParked, "b", "x"), closing("", "", machine.LetterDropped))
		spoil(&st)
		if f.settle(st).Result == store.Won {
			f.Fatalf("%s: the settlement won", name)
		}
		f.equal(name, f.letters(store.LetterFilter{}), before)
	}
}

// X9, O6
func letterFilters(f *fixture) {
	f.register(tenant, "other")
	named := f.newRun(tenant, "")
	named.Workflow = "other"
	out, err := f.s.Start(f.ctx, []store.Start{f.start(named, open(machine.LetterParked, "pay", "declined"))})
	f.must(err)
	f.must(out[0].Err)
	r := f.begin(open(machine.LetterParked, "ship", "declined"), open(machine.LetterCompensation, "pay", "refused"), letter("x", nil))
	f.beginAs(stranger, "", open(machine.LetterParked, "pay", "declined"))
	f.advance(r, closing(machine.LetterCompensation, "pay", machine.LetterDropped))
	all := f.letters(store.LetterFilter{})
	f.equal("all", codes(all), []string{"", "refused", "declined", "declined"})
	f.equal("workflows", []string{all[0].Workflow, all[3].Workflow}, []string{workflow, "other"})
	for _, test := range []struct {
		name   string
		filter store.LetterFilter
		want   []int // of all
	}{
		{"run", store.LetterFilter{RunID: r.ID}, []int{0, 1, 2}},
		{"no run", store.LetterFilter{RunID: "none"}, nil},
		{"workflow", store.LetterFilter{Workflow: "other"}, []int{3}},
		{"kind", store.LetterFilter{Kind: machine.LetterParked}, []int{2, 3}},
		{"path", store.LetterFilter{Path: "pay"}, []int{1, 3}},
		{"open", store.LetterFilter{State: machine.LetterOpen}, []int{0, 2, 3}},
		{"open of a run at a path", store.LetterFilter{RunID: r.ID, State: machine.LetterOpen, Path: "ship"}, []int{2}},
		{"dropped", store.LetterFilter{State: machine.LetterDropped}, []int{1}},
		{"code", store.LetterFilter{Code: "declined"}, []int{2, 3}},
		{"step", store.LetterFilter{FailedAt: "pay", Code: "refused"}, []int{1}},
		{"ids", store.LetterFilter{IDs: []int64{all[3].ID, all[1].ID, 1 << 40}}, []int{1, 3}},
		{"ids of a workflow", store.LetterFilter{IDs: []int64{all[3].ID, all[1].ID}, Workflow: workflow}, []int{1}},
		{"no ids", store.LetterFilter{IDs: []int64{}}, nil},
	} {
		var want []store.Letter
		for _, i := range test.want {
			want = append(want, all[i])
		}
		f.equal(test.name, f.letters(test.filter), want)
	}
}

// X9
func letterTimes(f *fixture) {
	r := f.begin(open(machine.LetterParked, "a", "1"))
	f.Advance(time.Hour)
	f.advance(r, open(machine.LetterParked, "b", "2"), open(machine.LetterParked, "a", "1"), closing(machine.LetterParked, "b", machine.LetterDropped))
	now := f.now()
	f.equal("since", codes(f.letters(store.LetterFilter{Since: now})), []string{"2"})
	f.equal("until", codes(f.letters(store.LetterFilter{Until: now})), []string{"1"})
	f.equal("between", codes(f.letters(store.LetterFilter{Since: now.Add(-time.Hour), Until: now.Add(1000)})), []string{"2", "1"})
	f.equal("closed at", f.letters(store.LetterFilter{})[0].ClosedAt, now)
}

// O6
func letterPages(f *fixture) {
	r := f.begin()
	var effects []machine.Effect
	for n := range 120 {
		code, err := json.Marshal(n)
		f.must(err)
		effects = append(effects, open(machine.LetterParked, string(code), string(code)))
	}
	f.advance(r, effects...)
	var got []store.Letter
	for before := int64(0); ; before = got[len(got)-1].ID {
		page := f.letters(store.LetterFilter{Before: before, Limit: 50})
		got = append(got, page...)
		if len(page) < 50 {
			break
		}
	}
	f.equal("pages", len(got), 120)
	f.equal("newest first", []string{got[0].Path, got[119].Path}, []string{"119", "0"})
	f.equal("without a limit", len(f.letters(store.LetterFilter{})), 100)
	var ids []int64
	for _, l := range got {
		ids = append(ids, l.ID)
	}
	f.equal("by id, without a limit", len(f.letters(store.LetterFilter{IDs: ids})), 120)
}

package store_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// R7
func TestStorableRefusesWhatNoStoreKeeps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload  string
		storable bool
	}{
		"nothing":                        {``, true},
		"null":                           {`null`, true},
		"an object":                      {`{"a": [1.50, "é"]}`, true},
		"white space":                    {" 1 \n", true},
		"a lone surrogate":               {`"\ud800"`, true},
		"an escaped backslash":           {`"\\u0000"`, true},
		"two escaped backslashes":        {`"\\\\u0000"`, true},
		"two of them":                    {`"\\u0000\\u0000"`, true},
		"an escaped NUL":                 {`"\u0000"`, false},
		"one after an escaped backslash": {`"\\\u0000"`, false},
		"one after one that is none":     {`"\\u0000\u0000"`, false},
		"one in a key":                   {`{"\u0000": 1}`, false},
		"a NUL":                          {"\"\x00\"", false},
		"a byte that is not UTF-8":       {"\"\xff\"", false},
		"a cut rune":                     {"\"\xc3\"", false},
		"half an object":                 {`{"a":`, false},
		"two values":                     {`1 2`, false},
		"words":                          {`hello`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := store.Storable(json.RawMessage(test.payload)); (err == nil) != test.storable {
				t.Errorf("got %v", err)
			} else if err != nil && !errors.Is(err, store.ErrRefused) {
				t.Errorf("%v is not a refusal", err)
			}
		})
	}
}

// R7
func TestStorableLooksIntoEveryPartOfASettlement(t *testing.T) {
	t.Parallel()
	bad, nul := json.RawMessage(`"\u0000"`), "a\x00b"
	entry := func(e store.Entry) store.Settlement { return store.Settlement{Entries: []store.Entry{{}, e}} }
	effect := func(e machine.Effect) store.Settlement {
		return store.Settlement{Effects: []machine.Effect{machine.CancelTimer{}, machine.StopTask{}, e}}
	}
	tests := map[string]store.Settlement{
		"payload":          entry(store.Entry{Payload: bad}),
		"facts":            entry(store.Entry{Facts: bad}),
		"path":             entry(store.Entry{Path: nul}),
		"name":             entry(store.Entry{Name: nul}),
		"key":              entry(store.Entry{Key: nul}),
		"task's path":      effect(machine.StartTask{Path: nul}),
		"task's queue":     effect(machine.StartTask{Queue: nul}),
		"task's handler":   effect(machine.StartTask{Handler: nul}),
		"timer":            effect(machine.SetTimer{Key: nul}),
		"value":            effect(machine.PutValue{Data: bad}),
		"value's key":      effect(machine.PutValue{Ref: machine.Ref{Key: nul}}),
		"letter's path":    effect(machine.OpenLetter{Path: nul}),
		"letter's message": effect(machine.OpenLetter{Error: &machine.Error{Message: nul}}),
		"letter's data":    effect(machine.OpenLetter{Error: &machine.Error{Data: bad}}),
		"ending's code":    effect(machine.EndRun{Error: &machine.Error{Code: nul}}),
		"ending's step":    effect(machine.EndRun{Error: &machine.Error{Step: nul}}),
	}
	for name, settlement := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := settlement.Storable(); !errors.Is(err, store.ErrRefused) {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	fine := store.Settlement{
		Entries: []store.Entry{{Payload: json.RawMessage(`1`)}},
		Effects: []machine.Effect{machine.StartTask{Path: "a"}, machine.EndRun{Error: &machine.Error{Code: "exit_1"}}, machine.EndRun{}},
	}
	if err := fine.Storable(); err != nil {
		t.Errorf("what is fine: %v", err)
	}
}

func TestStorableLooksIntoHeadersAndMessages(t *testing.T) {
	t.Parallel()
	for _, h := range []machine.Header{{Tenant: "\xff"}, {Workflow: "\x00"}, {Key: "\x00"}, {Home: "\xff"}} {
		start := store.Start{Settlement: store.Settlement{Run: &machine.Run{Header: h}}}
		if err := start.Storable(); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%+v: %v, want a refusal", h, err)
		}
	}
	for _, m := range []store.Message{
		{ID: "\x00"},
		{Event: machine.Event{Name: "\x00"}},
		{Event: machine.Event{Key: "\xff"}},
		{Event: machine.Event{Payload: json.RawMessage(`{`)}},
		{Event: machine.Event{Facts: json.RawMessage(`"\u0000"`)}},
	} {
		if err := m.Storable(); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%+v: %v, want a refusal", m, err)
		}
	}
}

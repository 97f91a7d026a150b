package storetest

import (
	"crypto/sha256"
	"errors"

	"github.com/millrace-go/millrace/store"
)

// The trials of definitions hold D2, D3 and N1.
var definitionTrials = []trial{
	{name: "the same content again is a no-op", hold: registerRepeats},
	{name: "without a version the next number is taken when the content is new", hold: registerNumbers},
	{name: "other content under a version is a conflict that names the free version", hold: registerConflicts},
	{name: "a definition comes back as it went in", hold: registerKeeps},
	{name: "the list gives the newest of each name, by name", hold: registerLists},
}

func definition(name string, version int, doc string) store.Workflow {
	return store.Workflow{Tenant: tenant, Name: name, Version: version, Hash: sha256.Sum256([]byte(doc)), Doc: []byte(doc)}
}

func (f *fixture) registers(w store.Workflow, version int, created bool) {
	f.Helper()
	gotVersion, gotCreated, err := f.s.Register(f.ctx, w)
	f.must(err)
	f.equal("version", gotVersion, version)
	f.equal("created", gotCreated, created)
}

// D2
func registerRepeats(f *fixture) {
	f.registers(definition("w", 4, `{"a":1}`), 4, true)
	f.registers(definition("w", 4, `{"a":1}`), 4, false)
	f.registers(definition("w", 0, `{"a":1}`), 4, false)
}

// D2
func registerNumbers(f *fixture) {
	f.registers(definition("w", 0, `{"a":1}`), 1, true)
	f.registers(definition("w", 0, `{"a":2}`), 2, true)
	f.registers(definition("w", 0, `{"a":1}`), 3, true) // not the newest's content
	f.registers(definition("w", 7, `{"a":3}`), 7, true)
	f.registers(definition("w", 5, `{"a":4}`), 5, true)
	f.registers(definition("w", 0, `{"a":5}`), 8, true)
}

// D2
func registerConflicts(f *fixture) {
	f.registers(definition("w", 2, `{"a":1}`), 2, true)
	_, _, err := f.s.Register(f.ctx, definition("w", 2, `{"a":2}`))
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, store.ErrConflict) {
		f.Fatalf("got %v, want a conflict", err)
	}
	f.equal("conflict", *conflict, store.ConflictError{What: "workflow", Name: "w", Free: 3})
	w, err := f.s.Workflow(f.ctx, tenant, "w", 2)
	f.must(err)
	f.equal("document", string(w.Doc), `{"a":1}`)
}

func registerKeeps(f *fixture) {
	before := f.now()
	first, second := definition("w", 1, `{"a":"é<>"}`), definition("w", 3, `{"a":12345678901234567890.10}`)
	f.registers(second, 3, true)
	f.registers(first, 1, true)
	second.Doc[1] = 'x' // the caller's own again
	for version, want := range map[int]store.Workflow{1: first, 3: definition("w", 3, `{"a":12345678901234567890.10}`), 0: definition("w", 3, `{"a":12345678901234567890.10}`)} {
		got, err := f.s.Workflow(f.ctx, tenant, "w", version)
		f.must(err)
		if got.CreatedAt < before || got.CreatedAt > f.now() {
			f.Fatalf("created at %d, want the store's time", got.CreatedAt)
		}
		got.CreatedAt = 0
		f.equal("definition", got, want)
	}
	for _, missing := range []struct {
		name    string
		version int
	}{{"w", 2}, {"nothing", 0}, {"nothing", 1}} {
		if _, err := f.s.Workflow(f.ctx, tenant, missing.name, missing.version); !errors.Is(err, store.ErrNotFound) {
			f.Fatalf("%s version %d: %v, want not found", missing.name, missing.version, err)
		}
	}
}

func registerLists(f *fixture) {
	for _, w := range []store.Workflow{definition("b", 2, `2`), definition("b", 1, `1`), definition("a", 0, `3`)} {
		_, _, err := f.s.Register(f.ctx, w)
		f.must(err)
	}
	list, err := f.s.Workflows(f.ctx, tenant)
	f.must(err)
	var got []string
	for _, w := range list {
		got = append(got, w.Name+" "+string(w.Doc))
	}
	f.equal("list", got, []string{"a 3", "b 2", workflow + ` {"workflow":"` + workflow + `"}`})
}

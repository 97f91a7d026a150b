package sim_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace-go/millrace/internal/sim"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
)

// addCorpus has the test write journals of seeds into a new file of the frozen corpus of package machine, whose test replays
// them: `go test ./internal/sim -run Corpus -corpus-add LABEL`. A file that exists is never written again.
var addCorpus = flag.String("corpus-add", "", "the label of a new file of the corpus")

// frozen is a journal of the corpus; package machine's test reads it.
type frozen struct {
	Name       string            `json:"name"`
	Definition string            `json:"definition"`
	Header     machine.Header    `json:"header"`
	Events     []frozenEvent     `json:"events"`
	Status     machine.Status    `json:"status"`
	Root       string            `json:"root"`
	Documents  map[string]string `json:"documents"`
}

type frozenEvent struct {
	Kind    machine.EventKind `json:"kind"`
	At      machine.Time      `json:"at"`
	Path    string            `json:"path,omitempty"`
	Name    string            `json:"name,omitempty"`
	Key     string            `json:"key,omitempty"`
	Attempt int               `json:"attempt,omitempty"`
	Cause   int64             `json:"cause,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
}

const (
	corpusSeeds = 40
	maxFrozen   = 120 // entries of a journal
)

func freeze(name string, def *workflow.Definition, h machine.Header, journal []store.Entry, stored *machine.Run) frozen {
	f := frozen{
		Name: name, Definition: string(def.Canonical()), Header: h, Status: stored.Status, Root: string(stored.EncodeRoot()),
		Documents: map[string]string{},
	}
	for _, e := range journal {
		f.Events = append(f.Events, frozenEvent{e.Kind, e.At, e.Path, e.Name, e.Key, e.Attempt, e.Cause, e.Payload})
	}
	c := stored.Saved()
	for path := range stored.Scopes {
		c.Touch(path)
	}
	for path := range stored.Chunks {
		c.Touch(path)
	}
	for _, change := range c.Changes() {
		if change.Doc != nil {
			f.Documents[change.Path] = string(change.Doc)
		}
	}
	return f
}

// TestCorpusIsAddedTo writes a new file when it is asked to; it has nothing to say otherwise.
func TestCorpusIsAddedTo(t *testing.T) {
	t.Parallel()
	if *addCorpus == "" {
		return
	}
	var all []frozen
	for seed := range uint64(corpusSeeds) {
		n := 0
		keep := func(def *workflow.Definition, h machine.Header, journal []store.Entry, stored *machine.Run) {
			n++
			if len(journal) > 0 && len(journal) <= maxFrozen {
				all = append(all, freeze(fmt.Sprintf("seed %d run %d", seed, n), def, h, journal, stored))
			}
		}
		if r := sim.Run(t.Context(), seed, sim.Options{Keep: keep}); len(r.Faults) > 0 {
			t.Fatal(r)
		}
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(all); err != nil {
		t.Fatal(err)
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte(`},{"name":`), []byte("},\n{\"name\":"))
	path := filepath.Join("..", "..", "machine", "testdata", "corpus", "v1", *addCorpus+"-seeds.json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

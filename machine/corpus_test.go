package machine

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

// addCorpus has the tests write the journals of transcripts and of random walks into new files of the frozen corpus, which
// are named after it: `go test ./machine -run Corpus -corpus-add LABEL`. (Seeds of the simulation are added by the test of
// that package.) A file that exists is never written again: it is what a release did.
var addCorpus = flag.String("corpus-add", "", "the label of new files of the corpus")

const corpusFolder = "testdata/corpus/v1"

// frozen is one journal of the corpus, and what it led to.
type frozen struct {
	Name       string            `json:"name"`
	Definition string            `json:"definition"` // as it is registered
	Header     Header            `json:"header"`
	Events     []frozenEvent     `json:"events"`
	Status     Status            `json:"status"`
	Root       string            `json:"root"`      // its document, byte for byte
	Documents  map[string]string `json:"documents"` // of the scopes that are open at the end, and of results
}

// frozenEvent is an entry of a journal without what is told to people alone.
type frozenEvent struct {
	Kind    EventKind       `json:"kind"`
	At      Time            `json:"at"`
	Path    string          `json:"path,omitempty"`
	Name    string          `json:"name,omitempty"`
	Key     string          `json:"key,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Cause   int64           `json:"cause,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// K2: journals of each release replay byte for byte.
func TestCorpusReplaysByteForByte(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(corpusFolder + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var all []frozen
			if err := json.Unmarshal(raw, &all); err != nil || len(all) == 0 {
				t.Fatalf("%d journals, %v", len(all), err)
			}
			for i := range all {
				for _, fault := range all[i].replay() {
					t.Errorf("%s: %s", all[i].Name, fault)
				}
			}
		})
	}
}

// replay gives what is not as it was.
func (f *frozen) replay() (faults []string) {
	def, err := workflow.Read(f.Name, []byte(f.Definition))
	if err != nil {
		return []string{err.Error()}
	}
	events := make([]Event, len(f.Events))
	for i, e := range f.Events {
		events[i] = Event{
			Kind: e.Kind, At: e.At, Path: e.Path, Name: e.Name, Key: e.Key, Attempt: e.Attempt, Cause: e.Cause, Payload: e.Payload,
		}
	}
	run, err := Replay(def, f.Header, events)
	if err != nil {
		return []string{err.Error()}
	}
	differ := func(what, got, want string) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s is\n%s\nand was\n%s", what, got, want))
		}
	}
	differ("the status", string(run.Status), string(f.Status))
	differ("the root's document", string(run.EncodeRoot()), f.Root)
	got := documents(run)
	for _, path := range slices.Sorted(maps.Keys(f.Documents)) {
		differ("the document of "+path, got[path], f.Documents[path])
		delete(got, path)
	}
	if !run.Status.Ended() { // an ended run leaves documents that the store deletes
		for path, doc := range got {
			differ("the document of "+path, doc, "")
		}
	}
	return faults
}

// documents gives the child documents of a run.
func documents(run *Run) map[string]string {
	c := run.Saved()
	for path := range run.Scopes {
		c.Touch(path)
	}
	for path := range run.Chunks {
		c.Touch(path)
	}
	out := map[string]string{}
	for _, change := range c.Changes() {
		if change.Doc != nil {
			out[change.Path] = string(change.Doc)
		}
	}
	return out
}

// frozen gives the journal of a world and what it led to.
func (w *world) frozen(name string) frozen {
	f := frozen{
		Name: name, Definition: string(w.def.Canonical()), Header: w.header, Status: w.status, Root: string(w.root),
		Documents: map[string]string{},
	}
	for _, ev := range w.journal {
		f.Events = append(f.Events, frozenEvent{ev.Kind, ev.At, ev.Path, ev.Name, ev.Key, ev.Attempt, ev.Cause, ev.Payload})
	}
	for path, doc := range w.docs {
		f.Documents[path] = string(doc)
	}
	return f
}

// freeze writes a new file of the corpus, with journals that replay.
func freeze(t *testing.T, name string, all []frozen) {
	t.Helper()
	var kept []frozen
	for i := range all {
		if len(all[i].Events) == 0 {
			continue
		}
		if faults := all[i].replay(); len(faults) > 0 {
			t.Errorf("%s: %s", all[i].Name, faults[0])
		}
		kept = append(kept, all[i])
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(corpusFolder, 0o750); err != nil {
		t.Fatal(err)
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte(`},{"name":`), []byte("},\n{\"name\":")) // a line for each journal
	file, err := os.OpenFile(filepath.Join(corpusFolder, name+".json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
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

// TestCorpusIsAddedTo writes new files when it is asked to; it has nothing to say otherwise.
func TestCorpusIsAddedTo(t *testing.T) {
	t.Parallel()
	if *addCorpus == "" {
		return
	}
	freeze(t, *addCorpus+"-transcripts", ofTranscripts(t))
	freeze(t, *addCorpus+"-walks", walks(t))
}

// walks tells a workflow with something of everything whatever random bytes say.
func walks(t *testing.T) (all []frozen) {
	t.Helper()
	for seed := range uint64(60) {
		all = append(all, walk(t, seed).frozen(fmt.Sprintf("walk %d", seed)))
	}
	return all
}

func walk(t *testing.T, seed uint64) *world {
	t.Helper()
	def, err := workflow.Read("zoo.yaml", []byte(zoos[seed%uint64(len(zoos))]))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(def)
	w.tell(Event{Kind: RunStarted, Payload: json.RawMessage(`{"i": 1}`)})
	for range 20 + 2*seed {
		w.fuzz(byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()))
	}
	w.replayed()
	if seed%3 > 0 {
		w.finish()
		w.replayed()
	}
	return w
}

// Walks through a workflow with something of everything, with orders, answers and retries at any moment, keep the invariants, end
// within a bound, and replay.
func TestWalksKeepTheInvariants(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		w := walk(t, seed)
		for _, bad := range w.faults {
			t.Errorf("walk %d: %s", seed, bad)
		}
		if seed%3 > 0 && !w.status.Ended() {
			t.Errorf("walk %d: the run is %s", seed, w.status)
		}
	}
}

package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// desk is a desk with the files of a day, and a database.
type desk struct{ db, folder string }

func newDesk(t *testing.T) desk {
	t.Helper()
	return desk{db: filepath.Join(t.TempDir(), "m.db"), folder: t.TempDir()}
}

func (d desk) put(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(d.folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs the workflow, or goes on with it, and fails the test unless the command ends with this status and the run has that one.
func (d desk) run(t *testing.T, exit int, status string, args ...string) ended {
	t.Helper()
	got, e := do[ended](t, d.db, args...)
	if got != exit || e.Status != status {
		t.Fatalf("%v: ended %s with %+v, status %d; not %s with status %d", args, e.Status, e.Error, got, status, exit)
	}
	return e
}

func (d desk) close(t *testing.T) {
	t.Helper()
	d.run(t, 3, "parked", "run", "park/park.yaml", "-i", "desk="+d.folder)
}

// open gives the ids of the open letters by the step that is parked.
func (d desk) open(t *testing.T) map[string]string {
	t.Helper()
	_, out := do[letters](t, d.db, "dead", "list")
	found := map[string]string{}
	for _, l := range out.Letters {
		if l.Kind != "parked" {
			t.Errorf("a letter of kind %s about %s", l.Kind, l.Path)
		}
		found[l.Path] = l.ID.String()
	}
	return found
}

// tell gives an order on a letter, and fails the test unless the command ends with this status.
func (d desk) tell(t *testing.T, exit int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(append([]string{"dead"}, args...), "--db", "sqlite:"+d.db)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exit {
		t.Fatalf("dead %v: %v, not status %d\n%s", args, err, exit, out)
	}
}

// X8: the failed steps wait for a person, the rest goes on, and each is redriven by itself: with what it had, or with a new input.
func TestEachParkedStepIsRedrivenByItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.close(t)
	waiting := d.open(t)
	if waiting["till"] == "" || waiting["bank"] == "" || len(waiting) != 2 {
		t.Fatalf("parked: %v", waiting)
	}
	d.put(t, "till.csv", "09:12,8.50\n10:40,34.00\n")
	d.tell(t, 0, "redrive", waiting["till"])
	d.run(t, 3, "parked", "resume", "@last")
	if diff := cmp.Diff(map[string]string{"bank": waiting["bank"]}, d.open(t)); diff != "" {
		t.Errorf("still parked (-want +got):\n%s", diff)
	}
	late := d.put(t, "late.csv", "09:12,8.50\n")
	d.tell(t, 0, "redrive", waiting["bank"], "--input", `{"file": "`+late+`"}`)
	e := d.run(t, 0, "succeeded", "resume", "@last")
	if diff := cmp.Diff(value(t, []byte(`{"till":4250,"bank":850,"differ":true}`)), value(t, e.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if e.attempts("till") != 2 || e.attempts("bank") != 2 {
		t.Errorf("%d attempts at the till, %d at the bank", e.attempts("till"), e.attempts("bank"))
	}
	d.tell(t, 4, "redrive", waiting["till"])
}

// X8: what is redriven before its cause is mended waits again.
func TestAParkedStepThatFailsAgainIsParkedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(t, "till.csv", "09:12,8.50\n")
	d.close(t)
	first := d.open(t)["bank"]
	d.put(t, "bank.csv", "09:12,eight\n")
	d.tell(t, 0, "redrive", first)
	d.run(t, 3, "parked", "resume", "@last")
	second := d.open(t)["bank"]
	if second == "" || second == first {
		t.Fatalf("the letter is %s, and was %s", second, first)
	}
	d.put(t, "bank.csv", "09:12,8.50\n")
	d.tell(t, 0, "redrive", second)
	e := d.run(t, 0, "succeeded", "resume", "@last")
	if e.attempts("bank") != 3 || e.attempts("till") != 1 {
		t.Errorf("%d attempts at the bank, %d at the till", e.attempts("bank"), e.attempts("till"))
	}
}

// X6, X8: dropping the letter of a parked step lets it fail for good.
func TestAParkedStepThatIsGivenUpFailsTheRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(t, "till.csv", "09:12,8.50\n")
	d.close(t)
	d.tell(t, 0, "drop", d.open(t)["bank"], "--reason", "the bank is closed")
	d.run(t, 1, "failed", "resume", "@last").mustHaveFailed(t, "no_such_file")
}

// What README.md tells to do does what it says.
func TestTheDeskOfTheExampleIsClosedAsItsPageSays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.run(t, 3, "parked", "run", "park/park.yaml")
	d.tell(t, 0, "redrive", d.open(t)["bank"], "--input", `{"file": "desk/bank-late.csv"}`)
	e := d.run(t, 0, "succeeded", "resume")
	if diff := cmp.Diff(value(t, []byte(`{"till":8000,"bank":8000,"differ":false}`)), value(t, e.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

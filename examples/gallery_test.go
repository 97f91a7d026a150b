package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// canValidate is the stage whose format the binary reads: the workflows of the gallery that are written in the format of a
// later one are left out of the tests until it is raised.
const canValidate = 3

// gallery lists the workflows of the gallery, each with the stage from which on it can be validated and drawn, and the stage
// from which on it runs.
var gallery = []struct {
	file        string
	since, runs int
}{
	{file: "backup/backup.yaml", since: 1, runs: 1},
	{file: "documents.yaml", since: 2, runs: 5},
	{file: "etl/etl.yaml", since: 1, runs: 1},
	{file: "import/import.yaml", since: 1, runs: 1},
	{file: "invoicing.yaml", since: 2, runs: 5},
	{file: "kyc.yaml", since: 2, runs: 5},
	{file: "onboarding.yaml", since: 2, runs: 5},
	{file: "order-saga.yaml", since: 2, runs: 3},
	{file: "release/release.yaml", since: 2, runs: 5},
	{file: "runbook/runbook.yaml", since: 1, runs: 1},
	{file: "subscription.yaml", since: 2, runs: 5},
	{file: "video/video.yaml", since: 1, runs: 1},
}

func TestTheGalleryItsTableAndItsPageHaveTheSameWorkflows(t *testing.T) {
	t.Parallel()
	var found, listed []string
	for _, pattern := range []string{"gallery/*.yaml", "gallery/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(f), "gallery/"))
		}
	}
	page := read(t, "gallery/README.md")
	for _, w := range gallery {
		listed = append(listed, w.file)
		when := "runs"
		if w.runs > canValidate {
			when = fmt.Sprintf("validated; runs from stage %d", w.runs)
		}
		row := regexp.MustCompile(`(?m)^\| \[[^]]+\]\(` + regexp.QuoteMeta(w.file) + `\) \| .+ \| ` + when + ` \|$`)
		if !row.MatchString(page) {
			t.Errorf("gallery/README.md has no row for %s that ends with %q", w.file, when)
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(listed, found); diff != "" {
		t.Errorf("files (-table +folder):\n%s", diff)
	}
}

func TestEveryWorkflowOfTheGalleryIsValidAndCanBeDrawn(t *testing.T) {
	t.Parallel()
	for _, w := range gallery {
		if w.since > canValidate {
			continue
		}
		t.Run(w.file, func(t *testing.T) {
			t.Parallel()
			file := "gallery/" + w.file
			for _, args := range [][]string{{"validate", file}, {"graph", file}, {"graph", file, "--format", "mermaid"}, {"graph", file, "--format", "dot"}, {"graph", file, "--format", "svg"}} {
				out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
				if err != nil || len(bytes.TrimSpace(out)) == 0 {
					t.Errorf("millrace %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
		})
	}
}

// ended is how a run of the gallery ended.
type ended struct {
	view
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Path    string `json:"path"`
	} `json:"error"`
}

// play runs a workflow of the gallery with an out folder of its own, and gives how it ended: well or not.
func play(t *testing.T, file, out string, inputs ...string) ended {
	t.Helper()
	args := []string{"run", "gallery/" + file, "--json", "--db", "sqlite:" + filepath.Join(t.TempDir(), "m.db"), "-i", "out=" + out}
	for _, input := range inputs {
		args = append(args, "-i", input)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stdout, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &messages
	err := cmd.Run()
	var status *exec.ExitError
	if err != nil && (!errors.As(err, &status) || status.ExitCode() != 1) {
		t.Fatalf("millrace %s: %v\n%s", strings.Join(args, " "), err, messages.Bytes())
	}
	var e ended
	if err := json.Unmarshal(stdout.Bytes(), &e); err != nil {
		t.Fatalf("millrace %s printed no JSON: %v\n%s", strings.Join(args, " "), err, stdout.Bytes())
	}
	return e
}

// promises are runs of the gallery and how they end: with an output, in which OUT stands for the out folder, or with a code.
var promises = []struct {
	name, file   string
	inputs       []string
	output, code string
}{
	{
		name: "the day is loaded", file: "etl/etl.yaml",
		output: `{"partition":"OUT/warehouse/day=2026-03-14/sales.csv","rows":48,"extracted":50,"duplicates":2,"missing":2,"cents":162885}`,
	},
	{name: "the gate stays shut", file: "etl/etl.yaml", inputs: []string{"max_missing=0.01"}, code: "quality_gate"},
	{name: "too few rows", file: "etl/etl.yaml", inputs: []string{"min_rows=49"}, code: "quality_gate"},
	{name: "a shop has not handed in", file: "etl/etl.yaml", inputs: []string{"day=2026-03-15"}, code: "not_handed_in"},
	{
		name: "two causes, one at a time", file: "runbook/runbook.yaml",
		output: `{"report":"OUT/INC-1042/report.md","causes":["stale_lock","disk_full","none"]}`,
	},
	{
		name: "a configuration is restored", file: "runbook/runbook.yaml", inputs: []string{"broken=config"},
		output: `{"report":"OUT/INC-1042/report.md","causes":["bad_config","none"]}`,
	},
	{
		name: "a quarter may be refused", file: "import/import.yaml",
		output: `{"batches":8,"imported":30,"refused":10,"to_mend":"OUT/refused.csv","why":["bad_rows: customers-0003","bad_rows: customers-0007"]}`,
	},
	{name: "more than a quarter is wrong", file: "import/import.yaml", inputs: []string{"file=customers-old.csv"}, code: "tolerate_exceeded"},
	{name: "other columns", file: "import/import.yaml", inputs: []string{"file=load.sh"}, code: "other_columns"},
	{
		name: "three renditions will do", file: "video/video.yaml",
		output: `{"film":"bouncing-ball","renditions":[72,36,18,9],"left_out":[144],"still":6,"online_first":2}`,
	},
	{name: "five renditions are too many", file: "video/video.yaml", inputs: []string{"need=5"}, code: "join_short"},
}

func TestTheWorkflowsOfTheGalleryThatRunGiveWhatTheyPromise(t *testing.T) {
	t.Parallel()
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			e := play(t, p.file, out, p.inputs...)
			if p.code != "" {
				e.mustHaveFailed(t, p.code)
				return
			}
			if e.Status != "succeeded" {
				t.Fatalf("ended %s with %+v", e.Status, e.Error)
			}
			if diff := cmp.Diff(value(t, []byte(strings.ReplaceAll(p.output, "OUT", out))), value(t, e.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheLoadIsTheSameOverAgain holds what the workflow's head says: a night may be repeated.
func TestTheLoadIsTheSameOverAgain(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	var tables []string
	for range 2 {
		play(t, "etl/etl.yaml", out)
		tables = append(tables, read(t, filepath.Join(out, "warehouse", "day=2026-03-14", "sales.csv")))
	}
	if diff := cmp.Diff(tables[0], tables[1]); diff != "" {
		t.Errorf("partition (-first night +second):\n%s", diff)
	}
	if rows := strings.Count(tables[0], "\n") - 1; rows != 48 {
		t.Errorf("the partition has %d rows, not 48", rows)
	}
}

func TestTheBackupKeepsTheNewestAndTheSundays(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	archives := filepath.Join(out, "archives")
	if err := os.MkdirAll(archives, 0o750); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC) // a Saturday
	var want []string
	for n := range 60 {
		name := "gallery-" + day.AddDate(0, 0, -n).Format(time.DateOnly) + ".tar.gz"
		if n > 0 { // the first is the one that the run makes
			if err := os.WriteFile(filepath.Join(archives, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if n < 3 || n == 6 || n == 13 {
			want = append([]string{name}, want...)
		}
	}
	e := play(t, "backup/backup.yaml", out, "daily=3", "weekly=2")
	if e.Status != "succeeded" {
		t.Fatalf("ended %s with %+v", e.Status, e.Error)
	}
	if diff := cmp.Diff(want, names(t, archives)); diff != "" {
		t.Errorf("archives (-want +got):\n%s", diff)
	}
}

func TestTheBackupThatFailsAlertsAndStillFails(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	play(t, "backup/backup.yaml", out, "folder=nowhere").mustHaveFailed(t, "backup_failed")
	if alerts := read(t, filepath.Join(out, "alerts.log")); !strings.HasSuffix(alerts, " backup of gallery failed at backup/pack: no_folder\n") || strings.Count(alerts, "\n") != 1 {
		t.Errorf("alerts:\n%s", alerts)
	}
}

func TestTheRunbookPagesAPersonWhenItCannotHelp(t *testing.T) {
	t.Parallel()
	hopeless := t.TempDir() // the configuration that was good is as bad as the one in use
	for name, text := range map[string]string{"shop.conf": "port=none\n", "shop.conf.good": "port=none\n", "shop.log": ""} {
		if err := os.WriteFile(filepath.Join(hopeless, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for input, words := range map[string]string{
		"broken=queue":        "no remedy is known for stuck_queue",
		"service=" + hopeless: "still not well",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			play(t, "runbook/runbook.yaml", out, input).mustHaveFailed(t, "handed_over")
			if pages := read(t, filepath.Join(out, "pages.log")); !strings.HasSuffix(pages, " INC-1042 ada: "+words+"\n") || strings.Count(pages, "\n") != 1 {
				t.Errorf("pages:\n%s", pages)
			}
		})
	}
}

// TestTheReleaseScriptsPutBackWhatRanBefore runs them as the workflow will when it can.
func TestTheReleaseScriptsPutBackWhatRanBefore(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "production")
	release := func(id string, scripts ...string) {
		t.Helper()
		scratch := t.TempDir()
		for _, line := range scripts {
			words := strings.Fields(line)
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = "gallery/release"
			cmd.Env = append(os.Environ(), "MILLRACE_RUN_ID="+id, "MILLRACE_SCRATCH="+scratch)
			out, err := cmd.CombinedOutput()
			if wrong := words[len(words)-1] == "unwell"; wrong && cmd.ProcessState.ExitCode() != 3 || !wrong && err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	runs := func(want string) {
		t.Helper()
		if got := read(t, filepath.Join(place, "current")); got != want+"\n" {
			t.Errorf("production runs %q, not %s", got, want)
		}
	}
	release("a", "./build.sh 1.3.0 false", "./test.sh syntax", "./test.sh unit", "./test.sh archive",
		"./switch-over.sh "+place+" 1.3.0", "./healthy.sh "+place+" 1.3.0")
	runs("1.3.0")
	release("b", "./build.sh 1.4.0 true", "./switch-over.sh "+place+" 1.4.0", "./switch-over.sh "+place+" 1.4.0", "./healthy.sh "+place+" 1.4.0 unwell")
	runs("1.4.0")
	release("b", "./roll-back.sh "+place, "./roll-back.sh "+place)
	runs("1.3.0")
}

// mustHaveFailed fails the test unless the run failed with this code.
func (e ended) mustHaveFailed(t *testing.T, code string) {
	t.Helper()
	if e.Status != "failed" || e.Error == nil || e.Error.Code != code {
		t.Errorf("ended %s with %+v, not failed with %s", e.Status, e.Error, code)
	}
}

// names gives what lies in a folder, in the order of the names.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

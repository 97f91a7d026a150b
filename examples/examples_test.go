package examples_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is built once for all tests of the package: the command line, and the services of the saga.
var binary, shopBinary string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder that stays harms nobody
	binary, shopBinary = filepath.Join(folder, "millrace"), filepath.Join(folder, "shop")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", folder, "../cmd/millrace", "./order-saga/shop")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the programs:", err)
		return 1
	}
	return m.Run()
}

// must runs the built binary on a database, where it has to succeed, and gives what it printed as JSON.
func must(t *testing.T, db string, into any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--db", "sqlite:"+db, "--json")...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("millrace %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), messages.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("millrace %s printed no JSON: %v\n%s", strings.Join(args, " "), err, out.Bytes())
	}
}

type view struct {
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
	Steps  []struct {
		Path     string `json:"path"`
		Status   string `json:"status"`
		Attempts int    `json:"attempts"`
	} `json:"steps"`
}

func (v view) attempts(path string) int {
	for _, s := range v.Steps {
		if s.Path == path {
			return s.Attempts
		}
	}
	return -1
}

func TestTheSmallExamplesSayWhatTheyPromise(t *testing.T) {
	t.Parallel()
	parallel, err := os.ReadFile("parallel/parallel.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, output string
		args         []string
	}{
		{file: "hello/hello.yaml", output: `"HELLO, WORLD!"`},
		{file: "hello/hello.yaml", args: []string{"-i", "name=Ada"}, output: `"HELLO, ADA!"`},
		{file: "retry/retry.yaml", output: `{"answer":"answered at attempt 3"}`},
		{file: "parallel/parallel.yaml", output: fmt.Sprintf(`{"file":"parallel.yaml","lines":%d,"words":%d,"bytes":%d}`,
			bytes.Count(parallel, []byte("\n")), len(bytes.Fields(parallel)), len(parallel))},
	} {
		t.Run(c.file+strings.Join(c.args, ""), func(t *testing.T) {
			t.Parallel()
			var v view
			must(t, filepath.Join(t.TempDir(), "m.db"), &v, append([]string{"run", c.file}, c.args...)...)
			if v.Status != "succeeded" {
				t.Errorf("ended %s", v.Status)
			}
			if diff := cmp.Diff(value(t, []byte(c.output)), value(t, v.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if strings.HasPrefix(c.file, "retry/") && v.attempts("call") != 3 {
				t.Errorf("the step took %d attempts, not 3", v.attempts("call"))
			}
		})
	}
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// totals are the figures of the raw file, computed here and nowhere else.
type totals struct {
	days, rainDays int
	tenths         int // of a millimetre
	months         []string
}

func rawTotals(t *testing.T) totals {
	t.Helper()
	f, err := os.Open("weather/seattle-weather.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var sum totals
	for _, row := range rows[1:] {
		whole, tenth, ok := strings.Cut(row[1], ".")
		amount, err := strconv.Atoi(whole + tenth)
		if err != nil || !ok || len(tenth) != 1 {
			t.Fatalf("%s: an amount of %q", row[0], row[1])
		}
		sum.days++
		sum.tenths += amount
		if amount > 0 {
			sum.rainDays++
		}
		if month := row[0][:7]; len(sum.months) == 0 || sum.months[len(sum.months)-1] != month {
			sum.months = append(sum.months, month)
		}
	}
	return sum
}

func TestTheWeatherReportHasTheTotalsOfTheRawFile(t *testing.T) {
	t.Parallel()
	want := rawTotals(t)
	folder := t.TempDir()
	db, out := filepath.Join(folder, "m.db"), filepath.Join(folder, "out")
	var v view
	must(t, db, &v, "run", "weather/weather.yaml", "-i", "out="+out)
	if v.Status != "succeeded" {
		t.Fatalf("ended %s", v.Status)
	}
	var got struct {
		Report, Chart string
		Months, Days  int
		RainDays      int `json:"rain_days"`
		Precipitation json.Number
		Records       map[string]json.Number
	}
	if err := json.Unmarshal(v.Output, &got); err != nil {
		t.Fatal(err)
	}
	total := fmt.Sprintf("%d.%d", want.tenths/10, want.tenths%10)
	if got.Days != want.days || got.RainDays != want.rainDays || string(got.Precipitation) != total || got.Months != len(want.months) {
		t.Errorf("output: %s; raw file: %d days, %d with rain, %s mm, %d months", v.Output, want.days, want.rainDays, total, len(want.months))
	}
	checkReport(t, filepath.Join(out, "report.md"), want, total)
	checkChart(t, filepath.Join(out, "precipitation.svg"), len(want.months))
	checkJournal(t, db, len(want.months))
}

// checkReport adds up the table of the report once more.
func checkReport(t *testing.T, name string, want totals, total string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "**"+total+" mm**") {
		t.Errorf("the report does not say %s mm:\n%s", total, text)
	}
	var months, records []string
	tenths := 0
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{4}-\d\d) \| \d+ \| \d+ \| (\d+)\.(\d) \| .* \| (\w*) \|$`).FindAllStringSubmatch(string(text), -1) {
		months = append(months, m[1])
		amount, err := strconv.Atoi(m[2] + m[3])
		if err != nil {
			t.Fatal(err)
		}
		tenths += amount
		if m[4] != "" {
			records = append(records, m[4])
		}
	}
	if diff := cmp.Diff(want.months, months); diff != "" {
		t.Errorf("months of the table (-raw file +report):\n%s", diff)
	}
	if tenths != want.tenths {
		t.Errorf("the rows of the table add up to %d tenths, not %d", tenths, want.tenths)
	}
	if diff := cmp.Diff([]string{"driest", "wettest"}, keep(records, "driest", "wettest")); diff != "" {
		t.Errorf("records of the table (-want +got):\n%s", diff)
	}
}

// keep gives those of list that are among names, in the order of names and without repeats.
func keep(list []string, names ...string) []string {
	var out []string
	for _, n := range names {
		if slices.Contains(list, n) {
			out = append(out, n)
		}
	}
	return out
}

func checkChart(t *testing.T, name string, months int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bars := strings.Count(string(text), " mm</title></rect>"); bars != months {
		t.Errorf("the chart has %d bars, not %d", bars, months)
	}
}

func checkJournal(t *testing.T, db string, months int) {
	t.Helper()
	var journal struct {
		Entries []struct {
			Seq  int    `json:"seq"`
			Kind string `json:"kind"`
			Path string `json:"path"`
		} `json:"entries"`
	}
	must(t, db, &journal, "journal", "@last")
	done := map[string]int{}
	for i, e := range journal.Entries {
		if e.Seq != i+1 {
			t.Fatalf("entry %d of the journal has the number %d", i+1, e.Seq)
		}
		if e.Kind == "task_succeeded" {
			done[e.Path]++
		}
	}
	for i := range months {
		if path := fmt.Sprintf("months[%d]", i); done[path] != 1 {
			t.Errorf("the journal shows %d successes of %s", done[path], path)
		}
	}
}

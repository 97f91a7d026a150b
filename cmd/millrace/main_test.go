package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/internal/pgcluster"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"millrace": func() { os.Exit(cli.Main(os.Args[1:])) },
	})
}

// TestCommands drives the program as a process: every command, exit status and document.
// D4 R2 R5 R6 R8 N1 O1 O3 O5 A14 X4 X6 X8 X9 X10 X13 C1 C2 C3
func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata", nil))
}

// TestCommandsOnPostgreSQL drives the program on a database of its own.
// K1 O1 X2 C2
func TestCommandsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	url := c.URL(c.Database(t))
	testscript.Run(t, scripts(filepath.Join("testdata", "postgres"), map[string]string{"MILLRACE_DB": url}))
}

// scripts are those of a folder, run with more variables.
func scripts(dir string, variables map[string]string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
			e.Setenv("EXAMPLES", examples)
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("USER", "tester")
			for name, value := range variables {
				e.Setenv(name, value)
			}
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status,
			"field":  field,
			"keys":   keys,
			"serve":  serve,
			"damage": damage,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}

// serve starts a server for the script, at $SERVER: it answers POST /hello with the name that it was given and whether there
// was an idempotency key, and everything else with 402.
func serve(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Name string }
		if r.URL.Path != "/hello" || r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil {
			w.WriteHeader(http.StatusPaymentRequired)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		keyed := r.Header.Get("Idempotency-Key") != "" && r.Header.Get("Traceparent") != ""
		_ = json.NewEncoder(w).Encode(map[string]any{"name": in.Name, "keyed": keyed}) // who left hears nothing
	}))
	ts.Defer(s.Close)
	ts.Setenv("SERVER", s.URL)
}

// damage KEY: writes garbage over the root document of the run with this key.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage KEY")
	}
	db, err := sqlite.OpenConn(ts.MkAbs(filepath.Join(".millrace", "millrace.db")), sqlite.OpenReadWrite)
	ts.Check(err)
	err = sqlitex.Execute(db, "update runs set doc = cast('garbage' as blob) where key = ?", &sqlitex.ExecOptions{Args: []any{args[0]}})
	ts.Check(errors.Join(err, db.Close()))
}

// status N COMMAND..: runs a command that must exit with status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND..")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// field FILE PATH VALUE: the JSON document in a file (or stdout, stderr) has the value, given as JSON, at the dotted path.
// "!null" stands for any value but null.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: field FILE PATH VALUE")
	}
	raw, err := json.Marshal(walk(ts, args[0], args[1]))
	ts.Check(err)
	if got := string(raw); got != args[2] && (args[2] != "!null" || got == "null") {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

// keys FILE PATH NAME..: the object at the dotted path has exactly these members.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys FILE PATH NAME..")
	}
	object, ok := walk(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	for _, name := range args[2:] {
		if _, ok := object[name]; !ok {
			ts.Fatalf("%s has no member %s", args[1], name)
		}
		delete(object, name)
	}
	for name := range object {
		ts.Fatalf("%s has a member %s too many", args[1], name)
	}
}

func walk(ts *testscript.TestScript, file, path string) any {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s is no JSON document: %v", file, err)
	}
	for part := range strings.SplitSeq(path, ".") {
		if part == "" {
			continue
		}
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				ts.Fatalf("%s: there is no %s", path, part)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(at) {
				ts.Fatalf("%s: there is no %s in a list of %d", path, part, len(at))
			}
			v = at[i]
		default:
			ts.Fatalf("%s: there is nothing below %v", path, at)
		}
	}
	return v
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
	"github.com/millrace-go/millrace/internal/pgcluster"
	"github.com/millrace-go/millrace/store/postgres"
)

func TestMain(m *testing.M) {
	testscript.Main(sideBySide{m}, map[string]func(){
		"millrace":  func() { os.Exit(cli.Main(os.Args[1:])) },
		"interrupt": func() { os.Exit(interrupt(os.Args[1:])) },
	})
}

// sideBySide runs more tests at once than there are processors: scripts mostly wait for what their programs wait for. There are
// never so many that their programs want more connections than a server has.
type sideBySide struct{ *testing.M }

const mostSideBySide = 16

// Run runs the tests.
func (s sideBySide) Run() int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(min(4*runtime.GOMAXPROCS(0), mostSideBySide))); err != nil {
			panic(err)
		}
	}
	return s.M.Run()
}

// TestCommands drives the program as a process: every command, exit status and document.
// D4 R2 R5 R6 R8 N1 O1 O3 O5 A14 X4 X6 X8 X9 X10 X13 C1 C2 C3
func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts(in(t, "testdata"), nil))
}

// TestCommandsOnPostgreSQL drives the program on databases of its own: with the same scripts and the same answers, and with
// what only PostgreSQL has.
// K1 K3 O1 O5 X2 X4 X6 X8 X9 X10 C1 C2 C3
func TestCommandsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	c := pgcluster.Shared(t)
	testscript.Run(t, scripts(in(t, "testdata"), func() map[string]string { return at(c, c.Copy(t, "cli", migrated)) }))
	testscript.Run(t, scripts(in(t, "testdata", "postgres"), func() map[string]string { return at(c, c.Database(t)) }))
}

// TestCommandsThroughAPooler drives the program through a pooler that lends connections for a transaction.
// O5
func TestCommandsThroughAPooler(t *testing.T) {
	t.Parallel()
	c, pooler := pgcluster.Shared(t), pgcluster.SharedPooler(t)
	testscript.Run(t, scripts(in(t, "testdata", "pooler"), func() map[string]string {
		v := at(c, c.Database(t))
		v["MILLRACE_DB"] = pooler.URL(v["DATABASE"])
		v["LISTENS"] = untilSomebodyListens
		return v
	}))
}

// untilSomebodyListens is a statement that waits for a listener on its database.
const untilSomebodyListens = `do $$ begin
	for i in 1..3600 loop
		perform pg_stat_clear_snapshot();
		if exists (select from pg_stat_activity where datname = current_database() and application_name = 'millrace listener') then
			return;
		end if;
		perform pg_sleep(0.05);
	end loop;
	raise exception 'nobody listens';
end $$`

// TestCommandsWhileTheServerIsAway drives the program on a server of its own that is stopped and started.
// A10, O5
func TestCommandsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	var servers sync.Map // by address
	p := scripts(in(t, "testdata", "outage"), func() map[string]string {
		c := pgcluster.Start(t, pgcluster.Options{})
		servers.Store(c.Address(), c)
		v := at(c, "postgres")
		v["MILLRACE_DB"] = "postgres://" + pgcluster.User + ":s3cret-7q@" + c.Address() + "/postgres"
		return v
	})
	p.Cmds["server"] = func(ts *testscript.TestScript, neg bool, args []string) {
		found, _ := servers.Load(ts.Getenv("ADDRESS"))
		c, ok := found.(*pgcluster.Cluster)
		switch {
		case !ok:
			ts.Fatalf("the script has no server")
		case !neg && len(args) == 1 && args[0] == "stop":
			ts.Check(c.Stop(pgcluster.Immediate))
		case !neg && len(args) == 1 && args[0] == "start":
			ts.Check(c.Resume(context.Background()))
		default:
			ts.Fatalf("usage: server stop|start")
		}
	}
	testscript.Run(t, p)
}

// at are the variables by which a script finds a database: the program with all rights as MILLRACE_DB, others with the rest.
func at(c *pgcluster.Cluster, database string) map[string]string {
	host, port, _ := net.SplitHostPort(c.Address()) // it was joined
	return map[string]string{
		"MILLRACE_DB": c.URL(database), "OWNER": c.URL(database), "ADDRESS": c.Address(), "HOST": host, "PORT": port, "DATABASE": database,
	}
}

// migrated makes the tables in the database at url.
func migrated(ctx context.Context, url string) error {
	st, err := postgres.Open(ctx, url, postgres.Options{Migrate: true})
	if err != nil {
		return err
	}
	return st.Close()
}

// in gives the scripts of a folder.
func in(t *testing.T, folder ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(append(folder, "*.txtar")...))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %v: %v", folder, err)
	}
	return files
}

// scripts are those of files, each run on a database of its own: the one to which the variables lead that database gives,
// or a file in its folder when that is nil. Lines that begin with [postgres] are for the former alone.
func scripts(files []string, database func() map[string]string) testscript.Params {
	return testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
			e.Setenv("EXAMPLES", examples)
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("USER", "tester")
			if database != nil {
				for name, value := range database() {
					e.Setenv(name, value)
				}
			}
			return err
		},
		Condition: func(name string) (bool, error) {
			if name != "postgres" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return database != nil, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":     status,
			"field":      field,
			"keys":       keys,
			"serve":      serve,
			"damage":     damage,
			"sql":        sql,
			"documented": documented,
			"substitute": substitute,
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

// sql URL STATEMENT..: runs statements in a database of PostgreSQL.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql URL STATEMENT..")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	for _, statement := range args[1:] {
		_, err = conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
		ts.Check(err)
	}
	ts.Check(conn.Close(ctx))
}

// documented N URL: runs the statements of the Nth block of SQL in docs/operations.md, with names that are the script's own.
func documented(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: documented N URL")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	ts.Check(err)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	blocks := strings.Split(string(page), "\n```sql\n")
	if n < 1 || n >= len(blocks) {
		ts.Fatalf("the page has %d blocks", len(blocks)-1)
	}
	block, _, _ := strings.Cut(blocks[n], "\n```\n")
	own := ts.Getenv("DATABASE")
	block = strings.NewReplacer("millrace_owner", own+"_owner", "millrace_worker", own+"_worker", "database jobs", "database "+own+"_jobs").Replace(block)
	sql(ts, false, append([]string{args[1]}, strings.Split(strings.TrimSuffix(block, ";"), ";\n")...))
}

// substitute FILE..: puts the values of the script's variables in the place of ${NAME}.
func substitute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: substitute FILE..")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// damage KEY: writes garbage over the root document of the run with this key.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage KEY")
	}
	if ts.Getenv("OWNER") != "" {
		sql(ts, false, []string{ts.Getenv("OWNER"), "update millrace.runs set doc = 'garbage' where key = '" + args[0] + "'"})
		return
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

// keys FILE PATH NAME..: the object at the dotted path has exactly these members, and docs/cli.md names each.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys FILE PATH NAME..")
	}
	object, ok := walk(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	ts.Check(err)
	for _, name := range args[2:] {
		if _, ok := object[name]; !ok {
			ts.Fatalf("%s has no member %s", args[1], name)
		}
		if !regexp.MustCompile(`[{\s]` + name + `[\s,]`).Match(page) {
			ts.Fatalf("docs/cli.md names no member %s", name)
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

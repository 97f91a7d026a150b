package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/runner/internal/plain"
	"github.com/millrace-go/millrace/workflow"
)

// R7
func TestStandardOutputBecomesTheOutput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mode    workflow.Stdout
		printed string
		want    string // the output
		code    string // or the failure
		says    string
	}{
		"auto: an object keeps its exact text": {"", "\n {\"n\": 1.10, \"big\": 12345678901234567890} \n", `{"n": 1.10, "big": 12345678901234567890}`, "", ""},
		"auto: a list":                         {"", "[1,\n2]\n", "[1,\n2]", "", ""},
		"auto: a number is text":               {"", "42\n", `"42"`, "", ""},
		"auto: a JSON text is text":            {"", "\"a\"\n", `"\"a\""`, "", ""},
		"auto: broken JSON is text":            {"", "{\"a\":\n", `"{\"a\":"`, "", ""},
		"auto: two objects are text":           {"", "{}\n{}\n", `"{}\n{}"`, "", ""},
		"auto: one line end is taken off":      {"", "a\n\n", `"a\n"`, "", ""},
		"auto: CR LF is one line end":          {"", "a\r\n", `"a"`, "", ""},
		"auto: without a line end":             {"", "<a & b>", `"<a & b>"`, "", ""},
		"auto: nothing":                        {"", "", `""`, "", ""},
		"auto: a bad byte":                     {"", "ab\xff\n", "", "unstorable", "not UTF-8 at byte 2"},
		"auto: a bad byte in JSON":             {"", "{\"a\":\"\xff\"}", "", "unstorable", "not UTF-8 at byte 6"},
		"auto: a NUL":                          {"", "a\x00b", "", "unstorable", "NUL character at byte 1"},
		"auto: a NUL spelled in JSON":          {"", `{"a":"\\\u0000"}`, "", "unstorable", `(\u0000) at byte 8`},
		"auto: a backslash before u0000":       {"", `{"a":"\\u0000"}`, `{"a":"\\u0000"}`, "", ""},
		"auto: u0000 in text is text":          {"", `a\u0000`, `"a\\u0000"`, "", ""},
		"json: any value":                      {"json", "42\n", `42`, "", ""},
		"json: an object":                      {"json", "{\"a\": 1}\n", `{"a": 1}`, "", ""},
		"json: broken":                         {"json", "{\"ä\": 1,\n \"b\": oops}", "", "bad_output", "standard output is not JSON: line 2, column 7"},
		"json: cut off":                        {"json", "{\"a\": ", "", "bad_output", "unexpected end"},
		"json: with talk after it":             {"json", "{}\ndone\n", "", "bad_output", "line 2, column 1"},
		"json: nothing":                        {"json", "\n", "", "bad_output", "is empty"},
		"text: JSON is text":                   {"text", "{\"a\":1}\n", `"{\"a\":1}"`, "", ""},
		"text: spaces stay":                    {"text", " a \n", `" a "`, "", ""},
		"lines":                                {"lines", "a\r\n\nb", `["a","","b"]`, "", ""},
		"lines: nothing":                       {"lines", "", `[]`, "", ""},
		"lines: one empty line":                {"lines", "\n", `[""]`, "", ""},
		"lines: a bad byte":                    {"lines", "a\n\xff", "", "unstorable", "at byte 2"},
		"log":                                  {"log", "{\"a\":1}\n", `null`, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, `cat printed`)
			c.Stdout = test.mode
			c.write(t, "printed", test.printed, 0o600)
			r := run(t, c)
			if test.code == "" {
				wantOutput(t, r, test.want)
				return
			}
			f := wantFailure(t, r, test.code, test.says)
			if f.Final != (test.code == "unstorable") || f.Passing {
				t.Errorf("final %v, passing %v", f.Final, f.Passing)
			}
		})
	}
}

// R8
func TestTheLimitIsThatOfTheOutputAsJSON(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mode    workflow.Stdout
		printed string
		large   bool
	}{
		"at the limit":             {"text", strings.Repeat("a", 98), false},
		"quotes count":             {"text", strings.Repeat("a", 99), true},
		"escapes count":            {"text", strings.Repeat("\n", 60), true},
		"JSON at the limit":        {"json", "[" + strings.Repeat("1,", 48) + "10]", false},
		"JSON over the limit":      {"json", "[" + strings.Repeat("1,", 50) + "1]", true},
		"lines grow as they split": {"lines", strings.Repeat("\n", 40), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, `cat printed`)
			c.Stdout, c.Limits.OutputBytes = test.mode, 100
			c.write(t, "printed", test.printed, 0o600)
			r := run(t, c)
			if large := r.Failure != nil && r.Failure.Code == "too_large" && r.Failure.Final; large != test.large {
				t.Errorf("too large: %v, failure %+v", large, r.Failure)
			}
		})
	}
}

func TestWhatIsWrittenToTheFileIsTheOutput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mode   workflow.Stdout
		script string
		want   string
		log    string
	}{
		"JSON, and standard output is log": {"", `echo talk; echo more >&2; echo '{"a": 1}' >"$MILLRACE_OUTPUT"`, `{"a": 1}`, "more\ntalk\n"},
		"text":                             {"", `echo hello >"$MILLRACE_OUTPUT"`, `"hello"`, ""},
		"appended":                         {"", `echo '{"a":' >>"$MILLRACE_OUTPUT"; echo '1}' >>"$MILLRACE_OUTPUT"`, "{\"a\":\n1}", ""},
		"with stdout log":                  {"log", `echo talk; echo '[1]' >"$MILLRACE_OUTPUT"`, `[1]`, "talk\n"},
		"with stdout json":                 {"json", `echo 42 >"$MILLRACE_OUTPUT"`, `42`, ""},
		"with stdout lines":                {"lines", `printf 'a\nb\n' >"$MILLRACE_OUTPUT"`, `["a","b"]`, ""},
		"renamed into place":               {"", `echo '[2]' >new; mv new "$MILLRACE_OUTPUT"`, `[2]`, ""},
		"removed":                          {"", `rm "$MILLRACE_OUTPUT"; echo printed`, `"printed"`, ""},
		"left empty":                       {"", `: >"$MILLRACE_OUTPUT"; echo printed`, `"printed"`, ""},
		"error null is an output":          {"", `echo '{"error": null}' >"$MILLRACE_OUTPUT"`, `{"error": null}`, ""},
		"an error among others is too":     {"", `echo '{"error": {"code": "x"}, "n": 1}' >"$MILLRACE_OUTPUT"`, `{"error": {"code": "x"}, "n": 1}`, ""},
		"an error that is printed is too":  {"", `echo '{"error": {"code": "x"}}'`, `{"error": {"code": "x"}}`, ""},
		"talk over the limit":              {"", `yes | head -c 5000; echo '[3]' >"$MILLRACE_OUTPUT"`, `[3]`, "*"},
		"talk far over the limit":          {"", `echo '[3]' >"$MILLRACE_OUTPUT"; yes | head -c 100000`, `[3]`, "*"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, test.script)
			c.Stdout, c.Limits.OutputBytes = test.mode, 1000
			r := run(t, c)
			wantOutput(t, r, test.want)
			if test.log != "*" && string(r.Log) != test.log {
				t.Errorf("log %q, want %q", r.Log, test.log)
			}
		})
	}
}

func TestAFileThatCannotBeTheOutputFailsTheStep(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		code   string
		says   string
	}{
		"not JSON where JSON was asked": {`echo oops >"$MILLRACE_OUTPUT"`, "bad_output", "$MILLRACE_OUTPUT is not JSON: line 1, column 1"},
		"over the limit":                {`yes | head -c 2000 >"$MILLRACE_OUTPUT"`, "too_large", "$MILLRACE_OUTPUT gives more than 1000 bytes"},
		"NUL":                           {`printf '"\000"' >"$MILLRACE_OUTPUT"`, "bad_output", "not JSON"},
		"NUL spelled out":               {`printf '"\\u0000"' >"$MILLRACE_OUTPUT"`, "unstorable", "$MILLRACE_OUTPUT has a NUL"},
		"a folder":                      {`rm "$MILLRACE_OUTPUT"; mkdir "$MILLRACE_OUTPUT"`, "bad_output", "not a plain file"},
		"a link":                        {`rm "$MILLRACE_OUTPUT"; ln -s /etc/passwd "$MILLRACE_OUTPUT"`, "bad_output", "not a plain file"},
		"a pipe":                        {`rm "$MILLRACE_OUTPUT"; mkfifo "$MILLRACE_OUTPUT"`, "bad_output", "not a plain file"},
		"the exit status comes first":   {`mkdir -p "$MILLRACE_OUTPUT.d"; rm "$MILLRACE_OUTPUT"; mkfifo "$MILLRACE_OUTPUT"; exit 4`, "exit_4", "status 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, test.script)
			c.Stdout, c.Limits.OutputBytes = workflow.StdoutJSON, 1000
			wantFailure(t, run(t, c), test.code, test.says)
		})
	}
}

func TestAProgramSaysItsFailureInTheFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		written string
		then    string
		want    Failure
	}{
		"with status 0":        {`{"error": {"code": "declined", "message": "no funds", "data": {"by": 1.50}}}`, ":", Failure{Code: "declined", Message: "no funds", Data: json.RawMessage(`{"by": 1.50}`)}},
		"with another status":  {`{"error": {"code": "declined"}}`, "exit 3", Failure{Code: "declined"}},
		"with a passing one":   {`{"error": {"code": "busy"}}`, "exit 75", Failure{Code: "busy", Passing: true}},
		"before a signal":      {`{"error": {"code": "busy"}}`, "kill -KILL $$", Failure{Code: "busy", Passing: true}},
		"with data null":       {`{"error": {"code": "x", "data": null}}`, ":", Failure{Code: "x"}},
		"over several lines":   {"{\"error\":\n{\"code\":\n\"x y\"}}\n", ":", Failure{Code: "x y"}},
		"with members unknown": {`{"error": {"code": "x", "trace": [1]}}`, ":", Failure{Code: "x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, `cat written >"$MILLRACE_OUTPUT"; `+test.then)
			c.write(t, "written", test.written, 0o600)
			r := run(t, c)
			if r.Failure == nil {
				t.Fatalf("succeeded with %s", r.Output)
			}
			if diff := cmp.Diff(test.want, *r.Failure); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	c := shell(t, `cat written >"$MILLRACE_OUTPUT"`)
	c.write(t, "written", `{"error": {"code": "x", "message": "a`+strings.Repeat("ä", 5000)+`"}}`, 0o600)
	f := wantFailure(t, run(t, c), "x", "aää")
	if len(f.Message) > plain.LongestMessage || !strings.HasSuffix(f.Message, "ä...") || !utf8.ValidString(f.Message) {
		t.Errorf("%d bytes, ending with %q", len(f.Message), f.Message[len(f.Message)-10:])
	}
}

func TestAMalformedFailureIsNoSuccess(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`{"error": "boom"}`,
		`{"error": {}}`,
		`{"error": {"code": 3}}`,
		`{"error": {"code": ""}}`,
		`{"error": {"code": " x"}}`,
		`{"error": {"code": "a\nb"}}`,
		`{"error": {"code": "` + strings.Repeat("x", 256) + `"}}`,
		`{"error": {"code": "x", "message": 3}}`,
	} {
		t.Run(written[:min(len(written), 40)], func(t *testing.T) {
			t.Parallel()
			c := shell(t, `cat written >"$MILLRACE_OUTPUT"`)
			c.write(t, "written", written, 0o600)
			wantFailure(t, run(t, c), "bad_output", `{"error": {"code": TEXT`)
			c.Script += `; exit 6`
			wantFailure(t, run(t, c), "exit_6")
		})
	}
	c := shell(t, `printf '{"error": {"code": "x", "message": "a\\u0000"}}' >"$MILLRACE_OUTPUT"`)
	wantFailure(t, run(t, c), "unstorable")
}

func TestTheExitStatusDecides(t *testing.T) {
	t.Parallel()
	codes := map[int]string{3: "declined", 75: "busy", 127: "not_installed"}
	tests := []struct {
		status  int
		codes   map[int]string
		code    string
		passing bool
	}{
		{1, nil, "exit_1", false},
		{255, nil, "exit_255", false},
		{75, nil, "exit_75", true},
		{3, codes, "declined", false},
		{4, codes, "exit_4", false},
		{75, codes, "busy", true},
		{127, nil, "exit_127", false},
		{126, nil, "exit_126", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, " ", test.code), func(t *testing.T) {
			t.Parallel()
			c := shell(t, fmt.Sprintf("echo why >&2; exit %d", test.status))
			c.Codes = test.codes
			r := run(t, c)
			f := wantFailure(t, r, test.code, fmt.Sprintf("the script ended with status %d:\nwhy", test.status))
			if f.Passing != test.passing || f.Permanent || f.Final || r.Status != test.status {
				t.Errorf("%+v, status %d", f, r.Status)
			}
		})
	}
}

func TestTextsComeBackFromTheOutputAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
		out, failure := parse("it", workflow.StdoutText, []byte(text+"\n"))
		if failure != nil {
			t.Fatal(failure.Message)
		}
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(text+"\n", "\n"); got != strings.TrimSuffix(want, "\r") && got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{}", "[1,2]", "{\"a\":", "a\nb\n", "\xff", "\x00", `"\u0000"`, `{"a":"\\u0000"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []workflow.Stdout{workflow.StdoutAuto, workflow.StdoutJSON, workflow.StdoutText, workflow.StdoutLines} {
			out, failure := parse("it", mode, []byte(text))
			if (out == nil) == (failure == nil) {
				t.Fatalf("%s: output %q, failure %v", mode, out, failure)
			}
			if failure == nil && (!json.Valid(out) || unstorable("it", out, true) != nil) {
				t.Fatalf("%s: output %q", mode, out)
			}
		}
		said, malformed := spokenError([]byte(text))
		if said != nil && (malformed != nil || !validCode(said.Code)) {
			t.Fatalf("%+v, %+v", said, malformed)
		}
	})
}

func TestScratchIsSharedByTheStepsOfARunAndRemovedWithIt(t *testing.T) {
	t.Parallel()
	c := shell(t, `echo kept >"$MILLRACE_SCRATCH/file"; mkdir -p "$MILLRACE_SCRATCH/a/b"; ln -s / "$MILLRACE_SCRATCH/a/link"; chmod 500 "$MILLRACE_SCRATCH/a"`)
	wantOutput(t, run(t, c), `""`)
	info, err := os.Stat(c.Scratch)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	c.Script = `cat "$MILLRACE_SCRATCH/file"; ls "$MILLRACE_SCRATCH"`
	wantOutput(t, run(t, c), `"kept\na\nfile"`)
	for range 2 { // the second finds nothing
		if err := RemoveScratch(c.Scratch); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(c.Scratch); !os.IsNotExist(err) {
			t.Errorf("still there: %v", err)
		}
	}
}

func TestFoldersThatWereMadeReadOnlyAreMadeWritableToBeRemoved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	deep := filepath.Join(folder, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(deep, "link")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{deep, filepath.Dir(deep), outside} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	makeWritable(root, "a")
	for dir, want := range map[string]os.FileMode{deep: 0o700, filepath.Dir(deep): 0o700, outside: 0o500} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

func TestRemoveScratchRefusesWhatIsNoFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	inside := filepath.Join(folder, "inside")
	if err := os.WriteFile(inside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", ".", "/", "scratch", "../x", link, inside} {
		if err := RemoveScratch(dir); err == nil {
			t.Errorf("%q was taken", dir)
		}
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
	if err := RemoveScratch(filepath.Join(folder, "no", "such", "folder")); err != nil {
		t.Error(err)
	}
}

package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace-go/millrace/runner/internal/plain"
	"github.com/millrace-go/millrace/workflow"
)

const script = "#!/bin/sh\n"

func TestArgumentsAreNeverSeenByAShell(t *testing.T) {
	t.Parallel()
	c := base(t)
	c.write(t, "args", script+`for a; do echo "<$a>"; done`, 0o755)
	c.Args = []string{"./args", "$HOME", "a b", "*", "; exit 1", "", "`ls`", "ä"}
	c.Stdout = workflow.StdoutLines
	wantOutput(t, run(t, c), `["<$HOME>","<a b>","<*>","<; exit 1>","<>","<`+"`ls`"+`>","<ä>"]`)
}

func TestAScriptIsRunByShEuWithItsTextUntouched(t *testing.T) {
	t.Parallel()
	t.Run("the text", func(t *testing.T) {
		t.Parallel()
		c := shell(t, `x='${ input }'; echo "$x $N"`)
		c.Env = map[string]string{"N": "n"}
		wantOutput(t, run(t, c), `"${ input } n"`)
	})
	t.Run("-e", func(t *testing.T) {
		t.Parallel()
		wantFailure(t, run(t, shell(t, "false\necho on")), "exit_1")
	})
	t.Run("-u", func(t *testing.T) {
		t.Parallel()
		c := shell(t, `echo "$UNSET"`)
		c.Step = "lines[3]/pack"
		r := run(t, c)
		if r.Failure == nil || !strings.Contains(r.Failure.Message, "UNSET") || !strings.Contains(r.Failure.Message, "lines[3]/pack: ") {
			t.Errorf("%+v", r.Failure)
		}
	})
	t.Run("a step named like an option", func(t *testing.T) {
		t.Parallel()
		c := shell(t, `echo "$0"`)
		c.Step = "-x"
		wantOutput(t, run(t, c), `"sh"`)
	})
	t.Run("longer than an argument may be", func(t *testing.T) {
		t.Parallel()
		wantOutput(t, run(t, shell(t, strings.Repeat("# a comment\n", 20_000)+"case $- in *e*u* | *u*e*) echo both ;; esac")), `"both"`)
	})
	t.Run("without sh in PATH", func(t *testing.T) {
		t.Parallel()
		c := shell(t, `echo found`)
		c.Env = map[string]string{"PATH": "/nowhere"}
		wantOutput(t, run(t, c), `"found"`)
	})
}

func TestAProgramIsFoundWhereItIsWritten(t *testing.T) {
	t.Parallel()
	c := base(t)
	for _, name := range []string{"here", "bin/tool", "sub/here", "sub/deep/tool"} {
		c.write(t, name, script+`echo "`+name+` as $0"`, 0o755)
	}
	for link, target := range map[string]string{"link": "bin/tool", "folder": "sub/deep", "sub/up": "../here"} {
		if err := os.Symlink(target, filepath.Join(c.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(c.Root, "bin")
	tests := []struct {
		dir, program, path, want string
	}{
		{"", "./here", "", "here as ./here"},
		{"", "bin/tool", "", "bin/tool as bin/tool"},
		{"", "./link", "", "bin/tool as ./link"},
		{"", "folder/tool", "", "sub/deep/tool as folder/tool"},
		{"", "./sub/../here", "", "here as ./sub/../here"},
		{"sub", "./here", "", "sub/here as ./here"},
		{"sub", "deep/tool", "", "sub/deep/tool as deep/tool"},
		{"sub", "../here", "", "here as ../here"},
		{"sub", "./up", "", "here as ./up"},
		{"folder", "./tool", "", "sub/deep/tool as ./tool"},
		{"folder", "../here", "", "sub/here as ../here"},
		{"./sub/", "./here", "", "sub/here as ./here"},
		{"", "tool", path + ":/bin", "bin/tool as " + path + "/tool"},
		{"sub", "tool", ".:deep::" + path, "bin/tool as " + path + "/tool"},
		{"sub", path + "/tool", "", "bin/tool as " + path + "/tool"},
	}
	for _, test := range tests {
		t.Run(test.dir+" "+test.program, func(t *testing.T) {
			t.Parallel()
			c := c
			c.Dir, c.Args = test.dir, []string{test.program}
			if test.path != "" {
				c.Env = map[string]string{"PATH": test.path}
			}
			wantOutput(t, run(t, c), string(plain.Encode(test.want)))
		})
	}
}

func TestWhatCannotBeStartedSaysWhyAndWhatToDo(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	tests := map[string]struct {
		args []string
		dir  string
		code string
		says []string
	}{
		"a missing script":             {[]string{"./missing.sh"}, "", "exit_127", []string{"there is no file ./missing.sh in ", "put it there"}},
		"a missing script in dir":      {[]string{"./missing.sh"}, "sub", "exit_127", []string{"/sub: put it there"}},
		"a path that ignores dir":      {[]string{"sub/ok"}, "sub", "exit_127", []string{"paths count from dir, write ok"}},
		"a path below a file":          {[]string{"./plain/x"}, "", "exit_127", []string{"there is no file"}},
		"a missing program":            {[]string{"no-such-program"}, "", "exit_127", []string{"there is no program no-such-program in PATH (", "install it"}},
		"a bare name of a file":        {[]string{"ok"}, "sub", "exit_127", []string{"write ./ok"}},
		"a missing absolute path":      {[]string{"/no/such/program"}, "", "exit_127", []string{"there is no file /no/such/program"}},
		"not executable":               {[]string{"./plain"}, "", "exit_126", []string{"./plain is not executable: chmod +x /"}},
		"not executable, odd name":     {[]string{"./it's plain"}, "", "exit_126", []string{`chmod +x '/`, `/it'\''s plain'`}},
		"a folder":                     {[]string{"./sub"}, "", "exit_126", []string{"./sub is a folder"}},
		"no first line":                {[]string{"./no-first-line"}, "", "exit_126", []string{"needs a first line such as #!/bin/sh"}},
		"an interpreter that is not":   {[]string{"./no-interpreter"}, "", "exit_127", []string{"asks for /no/such/python", "install it"}},
		"lines that end with CR LF":    {[]string{"./crlf"}, "", "exit_127", []string{"CR LF", `sed -i 's/\r$//' /`}},
		"an empty name":                {[]string{""}, "", "exit_127", []string{"the name of the program is empty"}},
		"nothing at all":               {[]string{}, "", "exit_127", []string{"the name of the program is empty"}},
		"a NUL in an argument":         {[]string{"echo", "a\x00b"}, "", "exit_126", []string{"item 2 has a NUL"}},
		"an argument that is too long": {[]string{"echo", strings.Repeat("x", 3<<20)}, "", "exit_126", []string{"too long", "standard input"}},
		"a path out of the folder":     {[]string{"../x"}, "", "exit_126", []string{"lies outside the workflow's folder"}},
		"a long way out of it":         {[]string{"sub/../../x"}, "", "exit_126", []string{"lies outside the workflow's folder"}},
		"out of it from dir":           {[]string{"../../x"}, "sub", "exit_126", []string{"lies outside the workflow's folder"}},
		"a link out of it":             {[]string{"./way-out"}, "", "exit_126", []string{"lies outside", "write its absolute path"}},
		"below a link out of it":       {[]string{"./folder-out/x"}, "", "exit_126", []string{"lies outside"}},
		"an absolute link":             {[]string{"./absolute"}, "", "exit_126", []string{"lies outside"}},
		"dir out of the folder":        {[]string{"true"}, "..", "exit_126", []string{"dir: .. lies outside"}},
		"dir a link out of it":         {[]string{"true"}, "folder-out", "exit_126", []string{"dir: folder-out lies outside"}},
		"dir absolute":                 {[]string{"true"}, "/tmp", "exit_126", []string{"dir: /tmp lies outside"}},
		"dir missing":                  {[]string{"true"}, "no-such-dir", "exit_126", []string{"dir: there is no folder no-such-dir"}},
		"dir a file":                   {[]string{"true"}, "plain", "exit_126", []string{"dir: plain is not a folder"}},
	}
	root := base(t)
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	root.write(t, "plain", script, 0o644)
	root.write(t, "it's plain", script, 0o644)
	root.write(t, "sub/ok", script, 0o755)
	root.write(t, "no-first-line", "echo hello\n", 0o755)
	root.write(t, "no-interpreter", "#!/no/such/python -u\nprint(1)\n", 0o755)
	root.write(t, "crlf", "#!/bin/sh\r\necho hello\r\n", 0o755)
	for link, target := range map[string]string{"way-out": filepath.Join(outside, "x"), "folder-out": outside, "absolute": filepath.Join(root.Root, "sub/ok")} {
		if err := os.Symlink(target, filepath.Join(root.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := root
			c.Args, c.Dir = test.args, test.dir
			r := run(t, c)
			f := wantFailure(t, r, test.code, test.says...)
			if !f.Permanent || f.Passing || r.Status != -1 {
				t.Errorf("%+v, status %d", f, r.Status)
			}
		})
	}
	t.Run("codes name these statuses too", func(t *testing.T) {
		t.Parallel()
		c := root
		c.Args, c.Codes = []string{"./missing.sh"}, map[int]string{127: "not_installed"}
		wantFailure(t, run(t, c), "not_installed")
	})
}

func TestAFirstLineThatEnvCannotFindIsExplained(t *testing.T) {
	t.Parallel()
	c := base(t)
	c.write(t, "crlf", "#!/usr/bin/env sh\r\necho hello\r\n", 0o755)
	c.Args = []string{"./crlf"}
	f := wantFailure(t, run(t, c), "exit_127", "crlf ended with status 127", "CR LF")
	if f.Permanent {
		t.Error("the program was started")
	}
}

func TestAWorkflowsFolderIsNeeded(t *testing.T) {
	t.Parallel()
	tests := map[string]string{"": "has no folder", "relative": "not an absolute path", "/no/such/folder": "put it back"}
	for folder, say := range tests {
		c := shell(t, `:`)
		c.Root = folder
		wantFailure(t, run(t, c), "exit_126", say)
	}
	c := shell(t, "echo \x00")
	wantFailure(t, run(t, c), "exit_126", "NUL")
}

func TestAScratchFolderThatCannotBeMadeIsPassing(t *testing.T) {
	t.Parallel()
	c := shell(t, `:`)
	c.write(t, "file", "", 0o600)
	c.Scratch = filepath.Join(c.Root, "file", "scratch")
	if f := wantFailure(t, run(t, c), "exit_126", "scratch folder"); !f.Passing || f.Permanent {
		t.Errorf("%+v", f)
	}
	c.Scratch = "relative"
	wantFailure(t, run(t, c), "exit_126", "not an absolute path")
}

func TestTheEnvironmentIsWhatTheListTheStepAndMillraceSay(t *testing.T) {
	t.Parallel()
	c := base(t)
	c.write(t, "sub/file", "", 0o600)
	c.Args, c.Dir, c.Stdout = []string{"/usr/bin/env"}, "sub", workflow.StdoutLines
	c.Environ = []string{
		"PATH=/usr/bin:/bin", "HOME=/home/u", "USER=u", "LC_ALL=C", "LANG=de", "TZ=UTC", "TMPDIR=/t",
		"MILLRACE_DB=postgres://secret", "AWS_SECRET_ACCESS_KEY=secret", "TERM=xterm", "LC=x", "odd", "=odd",
	}
	c.Env = map[string]string{"LANG": "fr", "EMPTY": "", "TEXT": "a\nb=c", "MILLRACE_STEP": "forged", "MILLRACE_VAR_X": "x"}
	c.RunID, c.RunKey, c.Step, c.Key, c.Attempt = "run-1", "order/7", "lines[3]/pack", "key-1", 2
	r := run(t, c)
	var lines []string
	if err := json.Unmarshal(r.Output, &lines); err != nil {
		t.Fatal(err, r.Failure)
	}
	got := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	output := got["MILLRACE_OUTPUT"]
	if !strings.HasPrefix(output, c.Scratch+"/") {
		t.Errorf("MILLRACE_OUTPUT is %q", output)
	}
	want := map[string]string{
		"PATH": "/usr/bin:/bin", "HOME": "/home/u", "USER": "u", "LC_ALL": "C", "LANG": "fr", "TZ": "UTC", "TMPDIR": "/t",
		"EMPTY": "", "TEXT": "a", "b": "c", "PWD": filepath.Join(c.Root, "sub"),
		"MILLRACE_RUN_ID": "run-1", "MILLRACE_RUN_KEY": "order/7", "MILLRACE_STEP": "lines[3]/pack", "MILLRACE_KEY": "key-1",
		"MILLRACE_ATTEMPT": "2", "MILLRACE_REASON": "retry", "MILLRACE_SCRATCH": c.Scratch, "MILLRACE_OUTPUT": output,
		"MILLRACE_VAR_X": "x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheReasonIsSaid(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Command{`"run"`: {Attempt: 1}, `"retry"`: {Attempt: 2}, `"compensate"`: {Attempt: 2, Reason: "compensate"}} {
		full := shell(t, `echo "$MILLRACE_REASON"`)
		full.Attempt, full.Reason = c.Attempt, c.Reason
		wantOutput(t, run(t, full), want)
	}
}

func TestAnEnvironmentThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"": "x", "A=B": "x", "A\x00": "x", "NUL": "a\x00"} {
		c := shell(t, `:`)
		c.Env = map[string]string{name: value}
		f := wantFailure(t, run(t, c), "exit_126", "env: ")
		if strings.Contains(f.Message, "a\x00") || strings.Contains(f.Message, "x\x00") {
			t.Errorf("the message shows the value: %q", f.Message)
		}
	}
}

func TestARefusalOfTheSystemIsExplained(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"empty": "", "bare": "#!", "long": "#!" + strings.Repeat("x", 300)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		err     error
		file    string
		code    string
		passing bool
		says    string
	}{
		"no loader":            {syscall.ENOENT, "empty", "exit_127", false, "built for this machine"},
		"no interpreter named": {syscall.ENOENT, "bare", "exit_127", false, "write #!/bin/sh"},
		"a very long line":     {syscall.ENOENT, "long", "exit_127", false, "built for this machine"},
		"gone since":           {syscall.ENOENT, "gone", "exit_127", false, "is missing"},
		"no right":             {syscall.EACCES, "empty", "exit_126", false, "noexec"},
		"open for writing":     {syscall.ETXTBSY, "empty", "exit_126", true, "open for writing"},
		"too many processes":   {syscall.EAGAIN, "empty", "exit_126", true, "cannot start another process now"},
		"out of memory":        {syscall.ENOMEM, "empty", "exit_126", true, "let fewer run"},
		"anything else":        {syscall.EIO, "empty", "exit_126", false, "empty cannot be started: input/output error"},
		"no error number":      {os.ErrInvalid, "empty", "exit_126", false, "invalid argument"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program{name: test.file, path: "./" + test.file, dir: folder}
			err := p.explain(&os.PathError{Op: "fork/exec", Path: "x", Err: test.err})
			if !errors.Is(err, test.err) {
				t.Errorf("%v does not wrap %v", err, test.err)
			}
			r := Result{Failure: Command{}.notStarted(err)}
			f := wantFailure(t, r, test.code, test.says)
			if f.Passing != test.passing || f.Permanent == test.passing {
				t.Errorf("%+v", f)
			}
		})
	}
}

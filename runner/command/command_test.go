package command

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVariable makes this test binary play another part: a process that the tests need and the system does not offer.
const roleVariable = "COMMAND_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		goleak.VerifyTestMain(m)
	case "daemon":
		playDaemon()
	case "parent":
		playParent()
	}
}

// playDaemon leaves its process group, says so, and stays, with the standard output of the program that started it.
func playDaemon() {
	if _, err := syscall.Setsid(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("said by the daemon")
	witness := os.NewFile(9, "witness")
	fmt.Fprintln(witness, os.Getpid())
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	<-told
}

// playParent runs the script that the environment holds until it is killed.
func playParent() {
	folder := os.Getenv("FOLDER")
	Run(context.Background(), Command{
		Script: os.Getenv("SCRIPT"), Root: folder, Scratch: filepath.Join(folder, "scratch"),
		Env: map[string]string{"WITNESS": os.Getenv("WITNESS")},
	})
}

// patience is how long a test waits for what should come at once. Programs that are told to stop have half of it.
const patience = 2 * time.Minute

// base gives a command in an empty folder, with nothing to run yet.
func base(t *testing.T) Command {
	t.Helper()
	return Command{
		Root:    t.TempDir(),
		Scratch: filepath.Join(t.TempDir(), "scratch"),
		Environ: []string{"PATH=" + os.Getenv("PATH")},
		Attempt: 1,
		Grace:   patience / 2,
	}
}

// shell gives a command with a script.
func shell(t *testing.T, script string) Command {
	t.Helper()
	c := base(t)
	c.Script = script
	return c
}

func run(t *testing.T, c Command) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return Run(ctx, c)
}

// write makes a file in the command's folder.
func (c Command) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(c.Root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// wantOutput fails the test unless the attempt succeeded with this output.
func wantOutput(t *testing.T, r Result, want string) {
	t.Helper()
	if r.Failure != nil {
		t.Fatalf("failed: %s: %s", r.Failure.Code, r.Failure.Message)
	}
	if string(r.Output) != want {
		t.Fatalf("output %.200s, want %s", r.Output, want)
	}
}

// wantFailure fails the test unless the attempt failed with this code and a message that says all of words.
func wantFailure(t *testing.T, r Result, code string, words ...string) *Failure {
	t.Helper()
	if r.Failure == nil {
		t.Fatalf("succeeded with %.200s, want failure %s", r.Output, code)
	}
	if r.Failure.Code != code {
		t.Fatalf("code %s, want %s (%s)", r.Failure.Code, code, r.Failure.Message)
	}
	for _, w := range words {
		if !strings.Contains(r.Failure.Message, w) {
			t.Errorf("message %q does not say %q", r.Failure.Message, w)
		}
	}
	return r.Failure
}

// witness sees processes live and die: it is a pipe with a name that they hold open as file descriptor 9.
type witness struct {
	t     *testing.T
	file  string
	lines chan string   // what they say to it
	gone  chan struct{} // closed when nobody holds it any more
}

// holdWitness is the beginning of a script whose processes are witnessed.
const holdWitness = `exec 9>"$WITNESS"` + "\n"

func newWitness(t *testing.T, c *Command) *witness {
	t.Helper()
	w := &witness{t: t, file: filepath.Join(t.TempDir(), "witness"), lines: make(chan string, 100), gone: make(chan struct{})}
	mkfifo(t, w.file)
	c.Env = map[string]string{"WITNESS": w.file}
	go func() {
		defer close(w.gone)
		f, err := os.Open(w.file)
		if err != nil {
			return
		}
		defer func() { _ = f.Close() }()
		for s := bufio.NewScanner(f); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { // nobody may have come
		if f, err := os.OpenFile(w.file, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = f.Close()
		}
	})
	return w
}

// hears waits for a line.
func (w *witness) hears() string {
	w.t.Helper()
	select {
	case line := <-w.lines:
		return line
	case <-time.After(patience):
		w.t.Fatal("nothing was said")
		return ""
	}
}

// seesNobody waits until every process that held the pipe has ended.
func (w *witness) seesNobody() {
	w.t.Helper()
	select {
	case <-w.gone:
	case <-time.After(patience):
		w.t.Fatal("a process is left")
	}
}

// stopWhenReady runs the command and ends its context as soon as the witness has heard n lines.
func (w *witness) stopWhenReady(c Command, n int) Result {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	result := make(chan Result, 1)
	go func() { result <- Run(ctx, c) }()
	for range n {
		w.hears()
	}
	cancel()
	select {
	case r := <-result:
		return r
	case <-time.After(patience):
		w.t.Fatal("Run does not return")
		return Result{}
	}
}

func mkfifo(t *testing.T, file string) {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tell writes to a pipe with a name, for whose reader it waits.
func tell(t *testing.T, file, text string) {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
}

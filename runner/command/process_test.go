package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A5
func TestTheWholeGroupIsEndedWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`
		sh -c 'echo child >&9; sleep 1000' &
		(sh -c 'echo grandchild >&9; sleep 1000' | cat) &
		echo program >&9
		sleep 1000`)
	w := newWitness(t, &c)
	r := w.stopWhenReady(c, 3)
	w.seesNobody()
	f := wantFailure(t, r, "signal", "SIGTERM", "told to stop")
	if !r.Stopped || !f.Passing || r.Status != -1 {
		t.Errorf("stopped %v, passing %v, status %d", r.Stopped, f.Passing, r.Status)
	}
}

// A5
func TestAProgramThatIgnoresSIGTERMIsKilledAfterItsGrace(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`trap '' TERM; echo ready >&9; while :; do sleep 0.01; done`)
	c.Grace = 50 * time.Millisecond
	w := newWitness(t, &c)
	r := w.stopWhenReady(c, 1)
	w.seesNobody()
	wantFailure(t, r, "signal", "did not end within 50ms, and was killed")
}

func TestAProgramToldToStopThatEndsWithStatus0HasSucceeded(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`trap 'echo tidied up; exit 0' TERM; echo ready >&9; while :; do sleep 0.01 || :; done`)
	w := newWitness(t, &c)
	r := w.stopWhenReady(c, 1)
	wantOutput(t, r, `"tidied up"`)
	if !r.Stopped {
		t.Error("Stopped is not set")
	}
}

func TestAProgramToldToStopThatEndsOtherwiseHasFailedWithItsStatus(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`trap 'exit 9' TERM; echo ready >&9; while :; do sleep 0.01 || :; done`)
	w := newWitness(t, &c)
	wantFailure(t, w.stopWhenReady(c, 1), "exit_9", "told to stop")
}

func TestTheGraceIsTheWholeGroups(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`
		sh -c 'trap "sleep 0.2; echo tidied up >tidied; exit" TERM; echo child >&9; while :; do sleep 0.01 || :; done' &
		echo program >&9
		sleep 1000`)
	w := newWitness(t, &c)
	r := w.stopWhenReady(c, 2)
	wantFailure(t, r, "signal")
	if _, err := os.Stat(filepath.Join(c.Root, "tidied")); err != nil {
		t.Error("the child was not given its time:", err)
	}
}

func TestASuspendedProgramIsWokenToStop(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`trap 'exit 0' TERM; sh -c 'kill -STOP $PPID; echo ready >&9'; while :; do sleep 0.01 || :; done`)
	w := newWitness(t, &c)
	wantOutput(t, w.stopWhenReady(c, 1), `""`)
}

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	t.Parallel()
	c := shell(t, `: >started`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Run(ctx, c)
	f := wantFailure(t, r, "signal", "told to stop before it started")
	if r.Status != -1 || !r.Stopped || !f.Passing {
		t.Errorf("status %d, stopped %v, passing %v", r.Status, r.Stopped, f.Passing)
	}
	if _, err := os.Stat(filepath.Join(c.Root, "started")); !os.IsNotExist(err) {
		t.Error("it was started:", err)
	}
}

func TestTheStepEndsWithItsProgramAndTheRestOfTheGroupIsEnded(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"child with the streams":       `sleep 1000 &`,
		"child without the streams":    `sleep 1000 >/dev/null 2>&1 </dev/null &`,
		"double fork":                  `(sh -c 'sleep 1000 & sleep 1000' &)`,
		"child that ignores SIGTERM":   `(trap '' TERM; while :; do sleep 0.01; done) &`,
		"child that writes on and on":  `(while :; do echo; done) >&2 &`,
		"suspended child":              `sh -c 'kill -STOP $$' &`,
		"child that reads the input":   `cat <&0 >/dev/null &`,
		"child that ends by itself":    `sleep 0.01 &`,
		"nothing left":                 `:`,
		"job control in its own group": `(sleep 0.01; :) &`,
	}
	for name, leave := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, holdWitness+leave+"\necho written")
			c.Grace = 100 * time.Millisecond
			c.Input = json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`)
			w := newWitness(t, &c)
			r := run(t, c)
			w.seesNobody()
			wantOutput(t, r, `"written"`)
			if r.Stopped {
				t.Error("Stopped is set")
			}
		})
	}
}

func TestWhatALeftoverWritesJustAfterTheProgramIsTaken(t *testing.T) {
	t.Parallel()
	c := shell(t, `echo early; (sleep 0.02; echo late) &`)
	c.settle = patience
	wantOutput(t, run(t, c), `"early\nlate"`)
}

func TestADaemonThatLeftTheGroupHoldsNothingUp(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell(t, holdWitness+`"$SELF" & read -r pid <"$WITNESS.started"; echo "said by the script"`)
	w := newWitness(t, &c)
	mkfifo(t, w.file+".started")
	c.Env["SELF"], c.Env[roleVariable] = self, "daemon"
	result := make(chan Result, 1)
	go func() { result <- run(t, c) }()
	pid := w.hears() // the daemon is out of the group and has spoken
	tell(t, w.file+".started", pid+"\n")
	wantOutput(t, <-result, `"said by the daemon\nsaid by the script"`)
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
		t.Error("the daemon should be left alone:", err)
	}
	w.seesNobody()
}

func TestAProgramIsReaped(t *testing.T) {
	t.Parallel()
	r := run(t, shell(t, `echo $$`))
	pid, err := strconv.Atoi(strings.Trim(string(r.Output), `"`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("process %d is still to be waited for: %v", pid, err)
	}
}

func TestAProgramHasNoTerminalAndAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	r := run(t, shell(t, `if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi`))
	wantOutput(t, r, `"none"`)
}

func TestASignalFailsTheStepAsPassing(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{"KILL": "want of memory", "SEGV": "SIGSEGV", "HUP": "SIGHUP"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, shell(t, `echo going down >&2; kill -`+name+` $$; sleep 1000`))
			f := wantFailure(t, r, "signal", "SIG"+name, say, "going down")
			if !f.Passing || f.Permanent || r.Status != -1 || r.Stopped {
				t.Errorf("passing %v, permanent %v, status %d, stopped %v", f.Passing, f.Permanent, r.Status, r.Stopped)
			}
		})
	}
}

func TestAFileStillOpenForWritingIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := base(t)
	c.write(t, "busy", script+":\n", 0o755)
	f, err := os.OpenFile(filepath.Join(c.Root, "busy"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Millisecond, func() { _ = f.Close() })
	defer timer.Stop()
	c.Args = []string{"./busy"}
	wantOutput(t, run(t, c), `""`)
}

func TestManyAttemptsShareAScratchFolder(t *testing.T) {
	t.Parallel()
	c := shell(t, `printf '{"attempt":%s}' "$MILLRACE_ATTEMPT" >"$MILLRACE_OUTPUT"`)
	const n = 20
	results := make([]chan Result, n)
	for i := range results {
		results[i] = make(chan Result, 1)
		mine := c
		mine.Attempt = i + 1
		go func() { results[i] <- run(t, mine) }()
	}
	for i, r := range results {
		wantOutput(t, <-r, `{"attempt":`+strconv.Itoa(i+1)+`}`)
	}
	left, err := os.ReadDir(filepath.Join(c.Scratch, attemptFolderName))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func BenchmarkRun(b *testing.B) {
	folder := b.TempDir()
	c := Command{Args: []string{"/bin/true"}, Root: folder, Scratch: filepath.Join(folder, "scratch")}
	b.ReportAllocs()
	for b.Loop() {
		if r := Run(b.Context(), c); r.Failure != nil {
			b.Fatal(r.Failure.Message)
		}
	}
}

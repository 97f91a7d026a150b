package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is an engine that runs in a process of its own. It is safe for concurrent use.
type Process struct {
	Owner string // its name in the store
	PID   int

	cmd    *exec.Cmd
	log    string
	exited chan struct{}
	last   report // what it said last; read once exited is closed
	waited error
}

// startWithin is how long a process may take until its engine runs.
const startWithin = 5 * time.Minute

// Start starts a process, waits until its engine runs, and kills it with the test.
func Start(tb testing.TB, o Options) *Process {
	tb.Helper()
	p, err := Launch(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Kill() }) // it may have ended before
	return p
}

// Launch starts a process and waits until its engine runs. The caller ends it by Kill or Terminate; it ends with this process
// in any case, and not with ctx.
func Launch(ctx context.Context, o Options) (*Process, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	p := &Process{exited: make(chan struct{})}
	reports, err := p.begin(o)
	if err != nil {
		return nil, err
	}
	first := make(chan report, 1)
	go p.follow(reports, first)
	select {
	case r := <-first:
		if r.Ready != "" {
			p.Owner = r.Ready
			return p, nil
		}
		<-p.exited
		return nil, fmt.Errorf("an engine did not start: %w", p.fault())
	case <-ctx.Done():
		return nil, errors.Join(errors.New("an engine did not start"), ctx.Err(), p.Kill())
	}
}

func (p *Process) begin(o Options) (reports *os.File, err error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(o.Folder, "engine-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	reports, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.log = log.Name()
	p.cmd = exec.Command(binary) //nolint:gosec,noctx // this program; it is ended by name, and outlives the call
	p.cmd.Env = append(os.Environ(), variable+"=1")
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = log, log, []*os.File{theirs}
	life, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, reports.Close(), theirs.Close())
	}
	if err := errors.Join(p.cmd.Start(), theirs.Close()); err != nil {
		return nil, errors.Join(err, reports.Close())
	}
	p.PID = p.cmd.Process.Pid
	_, err = life.Write(append(settings, '\n'))
	return reports, err
}

// follow reads what the process says until it has ended.
func (p *Process) follow(reports *os.File, first chan<- report) {
	lines := bufio.NewScanner(reports)
	for lines.Scan() {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		p.last = r
		select {
		case first <- r:
		default:
		}
	}
	_ = reports.Close()
	p.waited = p.cmd.Wait()
	select {
	case first <- report{}:
	default:
	}
	close(p.exited)
}

// fault says why a process that has ended did.
func (p *Process) fault() error {
	if p.last.Ended && p.last.Error == "" {
		return nil
	}
	said, _ := os.ReadFile(p.log)
	return fmt.Errorf("process %d (%s): %w: %s; its log: %s", p.PID, filepath.Base(p.log), p.waited, p.last.Error, said)
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process with SIGKILL and waits for its end. Of one that has ended it gives os.ErrProcessDone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// Halt stops the process with SIGSTOP, as a machine that hangs does, and waits until it stands still.
func (p *Process) Halt() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for p.moves() {
		<-tick.C
	}
	return nil
}

// moves says whether a thread of the process may still do something; never where /proc does not tell.
func (p *Process) moves() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID))
	for _, name := range threads {
		raw, _ := os.ReadFile(name) // of one that has ended there is nothing
		_, state, _ := strings.Cut(string(raw[bytes.LastIndexByte(raw, ')')+1:]), " ")
		if state != "" && strings.Contains("RSD", state[:1]) {
			return true
		}
	}
	return false
}

// Continue lets a process that was halted go on.
func (p *Process) Continue() error { return p.signal(syscall.SIGCONT) }

// Drain tells the process to end as a service manager does, with SIGTERM: its engine claims nothing more, lets attempts end
// for its Grace, and settles.
func (p *Process) Drain() error { return p.signal(syscall.SIGTERM) }

// Terminate is Drain and Wait.
func (p *Process) Terminate(ctx context.Context) error {
	if err := p.Drain(); err != nil {
		return err
	}
	return p.Wait(ctx)
}

// Wait waits until the process has ended, and gives what its engine said of it: nil when everything was settled. A process
// that was killed gives an error.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.fault()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Process) signal(s syscall.Signal) error {
	select {
	case <-p.exited:
		return os.ErrProcessDone
	default:
		return p.cmd.Process.Signal(s)
	}
}

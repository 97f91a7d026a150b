package command

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// process is a started program, the leader of a session and so of a process group of its own: no terminal reaches it, and
// one signal reaches all of the group. The group's number is the program's, which stays taken until finish has reaped it.
type process struct {
	pid    int
	exited chan struct{} // closed when the program has ended
	os     *os.Process
	state  *os.ProcessState // where waiting means reaping: set before exited is closed
}

// start starts the program. It gives the error of the system as it is.
//
// The thread that starts a process is the one whose end would kill it (see attributes), so one goroutine is locked to its
// thread from before the start until the program has ended.
func start(p program, environ []string, files []*os.File) (*process, error) {
	c := &process{exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		if c.os, err = startOnce(p, environ, files); err != nil {
			started <- err
			return
		}
		c.pid = c.os.Pid
		started <- nil
		c.await()
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// startOnce tries again while the program's file is open for writing, which a process forked at the wrong moment by anybody
// in this program can cause for some microseconds (https://go.dev/issue/22315).
func startOnce(p program, environ []string, files []*os.File) (*os.Process, error) {
	attr := &os.ProcAttr{Dir: p.dir, Env: environ, Files: files, Sys: attributes()}
	for delay := time.Millisecond; ; delay *= 2 {
		process, err := os.StartProcess(p.path, p.argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || delay > 512*time.Millisecond {
			return process, err
		}
		<-newTimer(delay).C
	}
}

// signal sends s to the whole group. It may be called until the program is reaped, and after it while members are left.
func (p *process) signal(s syscall.Signal) error { return syscall.Kill(-p.pid, s) }

// terminate asks the group to end; one that is suspended is woken to hear it.
func (p *process) terminate() {
	_ = p.signal(syscall.SIGTERM)
	_ = p.signal(syscall.SIGCONT)
}

// stop ends the program: SIGTERM and, when grace is over, SIGKILL. It says whether that was needed; grace is then over for
// everybody.
func (p *process) stop(grace *time.Timer) (killed bool) {
	p.terminate()
	select {
	case <-p.exited:
		return false
	case <-grace.C:
		_ = p.signal(syscall.SIGKILL)
		<-p.exited
		grace.Reset(0)
		return true
	}
}

// finish reaps the program, which has ended, and ends what is left of its group: SIGTERM, and SIGKILL when patience is over.
func (p *process) finish(patience *time.Timer) (status int, signal os.Signal) {
	p.terminate() // the ended program still holds the group's number: no other group can be hit
	p.reap()
	status = p.state.ExitCode()
	if w, ok := p.state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		signal = w.Signal()
	}
	if !p.gone(patience) {
		_ = p.signal(syscall.SIGKILL)
		last := newTimer(killTime)
		defer last.Stop()
		p.gone(last)
	}
	return status, signal
}

// killTime bounds the wait for killed processes to vanish.
const killTime = 200 * time.Millisecond

// gone waits until no member of the group lives, or until patience is over. A group's number is not given away while it has one,
// so that these signals reach nobody else. Members that became our children (as process 1 of a container) are reaped; dead
// ones that nobody reaps (a container whose process 1 does not care) are not waited for.
func (p *process) gone(patience *time.Timer) bool {
	for delay := time.Millisecond; ; delay = min(2*delay, 20*time.Millisecond) {
		p.reapMembers()
		if errors.Is(p.signal(0), syscall.ESRCH) || !alive(p.pid) {
			return true
		}
		select {
		case <-patience.C:
			return false
		case <-newTimer(delay).C:
		}
	}
}

// reapMembers reaps dead members of the group that are our children.
func (p *process) reapMembers() {
	for {
		pid, err := syscall.Wait4(-p.pid, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// newTimer is the one place that asks for time: processes live in the system's, whatever the clock of the engine.
func newTimer(d time.Duration) *time.Timer {
	return time.NewTimer(d) //nolint:forbidigo // see above
}

package command

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes gives the program a session of its own, and its death with ours.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// await blocks until the program has ended, and leaves it to be reaped: until then nobody else can get its number.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (p *process) reap() { p.state, _ = p.os.Wait() }

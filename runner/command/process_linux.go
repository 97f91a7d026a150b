package command

import (
	"bytes"
	"errors"
	"os"
	"strconv"
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

// alive says whether a process group has a member that is not just waiting to be reaped, or might have one. It looks through
// /proc, which is for the rare group that outlives its program.
func alive(group int) bool {
	proc, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return true
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && livesIn(group, stat) {
			return true
		}
	}
	return false
}

// livesIn reads a line of /proc/PID/stat: number, (name), state, parent, group and more, see proc(5). The name may hold
// anything.
func livesIn(group int, stat []byte) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 || string(fields[2]) != strconv.Itoa(group) {
		return false
	}
	return fields[0][0] != 'Z' && fields[0][0] != 'X'
}

//go:build unix && !linux

package command

import "syscall"

// attributes gives the program a session of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// await blocks until the program has ended, and reaps it.
func (p *process) await() { p.state, _ = p.os.Wait() }

func (p *process) reap() {}

// alive says whether a process group that has members might have one that is not just waiting to be reaped.
func alive(int) bool { return true }

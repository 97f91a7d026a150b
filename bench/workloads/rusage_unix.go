//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime gives the time that this process has spent on processors, in the kernel too.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

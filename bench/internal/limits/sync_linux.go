package limits

import (
	"os"
	"syscall"
)

// syncData waits until the data of a file are durable.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

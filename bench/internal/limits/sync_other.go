//go:build !linux

package limits

import "os"

// syncData waits until a file is durable.
func syncData(f *os.File) error { return f.Sync() }

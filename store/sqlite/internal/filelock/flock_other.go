//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filelock

import "os"

// provesDeath: without locks that end with their process nobody is proved dead, and leases run out instead.
const provesDeath = false

func lockFile(*os.File, bool) (bool, error) { return true, nil }

func unlockFile(*os.File) error { return nil }

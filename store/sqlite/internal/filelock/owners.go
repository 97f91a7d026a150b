// Package filelock is what processes that share a database file know of each other by locks of the operating system: who is
// dead ([Owners]), and whose turn it is to write ([Turnstile]).
//
// It imports nothing of Millrace.
package filelock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Owners holds the file locks of the processes that claim through this handle, in a folder beside the database. The name
// of a file is the owner's in hexadecimal, so that any owner has one.
type Owners struct {
	folder string
	mu     sync.Mutex
	held   map[string]*os.File
}

const (
	lockSuffix    = ".lock"
	maxOwnerBytes = 100
)

// NewOwners gives the owners whose files lie in folder, which exists.
func NewOwners(folder string) *Owners { return &Owners{folder: folder, held: map[string]*os.File{}} }

// Path gives the place of an owner's file. A name too long for one is cut to a hash, which Remains does not list: such an
// owner is never proved dead, and its leases run out instead.
func (o *Owners) Path(owner string) string {
	name := hex.EncodeToString([]byte(owner))
	if len(owner) > maxOwnerBytes {
		sum := sha256.Sum256([]byte(owner))
		name = "hash-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(o.folder, name+lockSuffix)
}

// Hold takes owner's lock if nobody has it. Another handle's having it is no mistake: it proves the same. Whoever only looks at
// it is waited for until ctx ends.
func (o *Owners) Hold(ctx context.Context, owner string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[owner] != nil {
		return nil
	}
	for {
		f, err := openLocked(o.Path(owner), os.O_RDWR|os.O_CREATE, false)
		if err != nil {
			return err
		}
		if f != nil {
			o.held[owner] = f
			return nil
		}
		if proved, err := o.hasHolder(owner); proved || err != nil {
			return err
		}
		if !pause(ctx, 100*time.Microsecond) {
			return ctx.Err()
		}
	}
}

// hasHolder says whether somebody has owner's lock alone. Those who look share it.
func (o *Owners) hasHolder(owner string) (bool, error) {
	f, err := openLocked(o.Path(owner), os.O_RDWR, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return f == nil, giveBack(f)
}

// openLocked opens and locks the file at path; nil when somebody has the lock. A file that was removed between opening and
// locking proves nothing to others, so it is opened anew.
func openLocked(path string, flag int, shared bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, flag, 0o600)
		if err != nil {
			return nil, err
		}
		ok, err := lockFile(f, shared)
		if !ok || err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if same(f, path) {
			return f, nil
		}
		if err := giveBack(f); err != nil {
			return nil, err
		}
	}
}

// giveBack unlocks and closes a file, if there is one. Closing alone would leave the lock to a child that this process is just
// starting, until that one executes its program.
func giveBack(f *os.File) error {
	if f == nil {
		return nil
	}
	return errors.Join(unlockFile(f), f.Close())
}

func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Alive says whether owner is not proved dead: by a file whose lock is free.
func (o *Owners) Alive(owner string) (bool, error) {
	if !provesDeath {
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[owner] != nil {
		return true, nil
	}
	f, err := openLocked(o.Path(owner), os.O_RDWR, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case f == nil || err != nil:
		return true, err
	}
	return false, giveBack(f)
}

// Release gives owner's lock back and removes its file.
func (o *Owners) Release(owner string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.held[owner]
	delete(o.held, owner)
	if f == nil {
		return nil
	}
	return errors.Join(removeExisting(o.Path(owner)), giveBack(f))
}

// Remains gives the owners that have a file here but no lock of this handle.
func (o *Owners) Remains() ([]string, error) {
	entries, err := os.ReadDir(o.folder)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), lockSuffix)
		owner, err := hex.DecodeString(name)
		if ok && err == nil && o.held[string(owner)] == nil {
			out = append(out, string(owner))
		}
	}
	return out, nil
}

// Clear removes the file of a dead owner, under its lock so that nobody takes it meanwhile.
func (o *Owners) Clear(owner string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[owner] != nil {
		return nil
	}
	f, err := openLocked(o.Path(owner), os.O_RDWR, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if f == nil || err != nil {
		return err
	}
	return errors.Join(removeExisting(o.Path(owner)), giveBack(f))
}

func removeExisting(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close gives all locks back. The files of owners that were not retired stay, so that their death is noticed.
func (o *Owners) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, f := range o.held {
		errs = append(errs, giveBack(f))
	}
	o.held = map[string]*os.File{}
	return errors.Join(errs...)
}

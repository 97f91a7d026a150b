package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

func alive(t *testing.T, o *Owners, owner string, want bool) {
	t.Helper()
	if got, err := o.Alive(owner); err != nil || got != want {
		t.Errorf("%s is alive: %v, %v; want %v", owner, got, err, want)
	}
}

// Whoever only looks, for however long, does not make the owner one without a lock.
func TestAnOwnerWaitsForThoseWhoLook(t *testing.T) {
	t.Parallel()
	mine := NewOwners(t.TempDir())
	other := NewOwners(mine.folder)
	look, err := openLocked(mine.Path("a"), os.O_RDWR|os.O_CREATE, true)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := mine.Hold(soon, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside somebody who looks: %v; it waits", err)
	}
	if err := giveBack(look); err != nil {
		t.Fatal(err)
	}
	if err := mine.Hold(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	alive(t, other, "a", true)
	if err := mine.Release("a"); err != nil {
		t.Fatal(err)
	}
}

// Another handle of the same owner proves the same: it is not waited for.
func TestAnOwnerDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	first := NewOwners(t.TempDir())
	second := NewOwners(first.folder)
	for _, o := range []*Owners{first, second} {
		if err := o.Hold(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	alive(t, second, "a", false)
}

// A child inherits open files until it executes its program; a lock that is given back is free all the same.
func TestALockThatIsGivenBackIsFreeWhateverChildrenInherit(t *testing.T) {
	t.Parallel()
	o := NewOwners(t.TempDir())
	if err := o.Hold(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	heir := exec.CommandContext(t.Context(), "cat")
	heir.ExtraFiles = []*os.File{o.held["a"]}
	end, err := heir.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	alive(t, NewOwners(o.folder), "a", false)
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	if err := heir.Wait(); err != nil {
		t.Fatal(err)
	}
}

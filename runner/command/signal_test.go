package command

import (
	"os"
	"syscall"
	"testing"
)

func mkfifo(t *testing.T, file string) {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tell writes to a pipe with a name, for whose reader it waits.
func tell(t *testing.T, file, text string) {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
}

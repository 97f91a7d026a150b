package logfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Tail gives what is added to the log of an attempt. It is not safe for concurrent use. The caller owes a Close.
type Tail struct {
	name string
	file *os.File
	part string // of a line that has not ended yet
	seen int
}

// Tail gives the tail of an attempt's log, from its beginning as far as that is kept.
func (f *Folder) Tail(run, path string, attempt int) *Tail {
	return &Tail{name: f.file(run, path, attempt)}
}

// tailBytes bounds what one call of Lines reads.
const tailBytes = 4 * HalfBytes

// Lines gives the whole lines that were added since the last call, without their line ends. A log that has no file gives
// none, and so does one whose attempt has ended and is in the journal. When more than the kept halves was written between two
// calls, the first of it is missing.
func (t *Tail) Lines() ([]string, error) {
	var b strings.Builder
	for range 4 { // at most the older half, the newer one, and one more that came meanwhile
		if err := t.open(); err != nil || t.file == nil {
			return t.cut(b.String()), err
		}
		moved, err := t.moved()
		if err != nil {
			return t.cut(b.String()), err
		}
		if _, err := io.Copy(&b, io.LimitReader(t.file, tailBytes)); err != nil {
			return t.cut(b.String()), err
		}
		if !moved {
			break
		}
		if err := t.Close(); err != nil {
			return t.cut(b.String()), err
		}
	}
	return t.cut(b.String()), nil
}

// Seen gives the number of bytes of the lines that were given, their ends included.
func (t *Tail) Seen() int { return t.seen }

// open opens the file: at first the older half, if there is one.
func (t *Tail) open() error {
	if t.file != nil {
		return nil
	}
	var err error
	if t.seen == 0 && t.part == "" {
		if t.file, err = os.Open(t.name + olderSuffix); err == nil {
			return nil
		}
	}
	t.file, err = os.Open(t.name + liveSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		t.file, err = nil, nil
	}
	return err
}

// moved says whether another file stands where the open one stood. It is asked before the file is read: what is written into
// it later is not missed, because then nothing is.
func (t *Tail) moved() (bool, error) {
	mine, err := t.file.Stat()
	if err != nil {
		return false, err
	}
	theirs, err := os.Stat(t.name + liveSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !os.SameFile(mine, theirs), err
}

func (t *Tail) cut(text string) []string {
	t.part += text
	end := strings.LastIndexByte(t.part, '\n')
	if end < 0 {
		return nil
	}
	whole := t.part[:end]
	t.part = t.part[end+1:]
	t.seen += len(whole) + 1
	return strings.Split(whole, "\n")
}

// Close lets go of the file. Lines opens it again.
func (t *Tail) Close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

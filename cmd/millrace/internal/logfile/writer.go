package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Writer takes the lines of one attempt. It is not safe for concurrent use. A fault of the disk ends the writing, not the
// attempt: what its program says is then in the journal alone.
type Writer struct {
	folder *Folder
	run    string
	name   string
	file   *os.File
	size   int
	broken bool
}

// Writer gives the writer of an attempt's log. It makes no file before the first line. The caller owes an End.
func (f *Folder) Writer(run, path string, attempt int) *Writer {
	return &Writer{folder: f, run: run, name: f.file(run, path, attempt)}
}

// Line adds a line, which has no line end of its own.
func (w *Writer) Line(text string) {
	if w.broken {
		return
	}
	if w.file != nil && w.size+len(text) >= HalfBytes {
		w.broken = w.file.Close() != nil || os.Rename(w.name+liveSuffix, w.name+olderSuffix) != nil
		w.file = nil
	}
	if w.file == nil && !w.broken {
		w.broken = w.open() != nil
	}
	if w.broken {
		return
	}
	n, err := w.file.WriteString(text + "\n")
	w.size += n
	w.broken = err != nil
}

func (w *Writer) open() error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	w.size = 0
	file, err := os.OpenFile(w.name+liveSuffix, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(w.name), 0o700); err != nil {
			return err
		}
		file, err = os.OpenFile(w.name+liveSuffix, flags, 0o600)
	}
	w.file = file
	return err
}

// End ends the log, of which whole is all that is to be kept; the journal keeps the last inJournal bytes of it. A file stays
// only when whole has more, and the run may keep it.
func (w *Writer) End(whole string, inJournal int) error {
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	if len(whole) > inJournal && w.folder.mayKeep(w.run, len(whole)) {
		err = errors.Join(err, w.keep(whole))
	}
	return errors.Join(err, w.remove(w.name+liveSuffix), w.remove(w.name+olderSuffix))
}

func (w *Writer) keep(whole string) error {
	if err := os.MkdirAll(filepath.Dir(w.name), 0o700); err != nil {
		return err
	}
	fresh := w.name + ".new"
	if err := os.WriteFile(fresh, []byte(whole), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, w.name+endedSuffix)
}

// remove removes a file that may not be there, and the run's folder once it is empty.
func (w *Writer) remove(name string) error {
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = os.Remove(filepath.Dir(name)) // it stays while it holds other logs
	return err
}

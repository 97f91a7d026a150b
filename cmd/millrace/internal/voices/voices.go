// Package voices follows what the running attempts of one run say, in the files that their processes write.
//
// Nouns: a [Voice] is an attempt; a [Room] hears all of a run's. It imports the root package for its views, and logfile.
package voices

import (
	"errors"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
)

// Room follows what the running attempts of one run say, in the files that their process writes.
type Room struct {
	folder *logfile.Folder
	run    string
	tails  map[Voice]*logfile.Tail
	last   map[string]string // by path
}

// Voice names an attempt.
type Voice struct {
	Path    string
	Attempt int
}

// Of gives the attempts that run in v, compensations included.
func Of(v *millrace.View) []Voice {
	var out []Voice
	for _, step := range v.Steps {
		if step.AttemptAt != nil {
			out = append(out, Voice{step.Path, step.Attempts})
		}
		if u := step.Undo; u != nil && u.AttemptAt != nil {
			out = append(out, Voice{u.Path, u.Attempts})
		}
	}
	return out
}

// New gives the room of a run, whose logs lie in folder. The caller owes a Close.
func New(folder *logfile.Folder, run string) *Room {
	return &Room{folder: folder, run: run, tails: map[Voice]*logfile.Tail{}, last: map[string]string{}}
}

// Listen tells the new lines of the attempts that run in v, and lets go of the others.
func (s *Room) Listen(v *millrace.View, tell func(from Voice, line string)) error {
	running := map[Voice]bool{}
	for _, key := range Of(v) {
		running[key] = true
		if s.tails[key] == nil {
			s.tails[key] = s.folder.Tail(s.run, key.Path, key.Attempt)
		}
	}
	for key, tail := range s.tails {
		lines, err := tail.Lines()
		if err != nil {
			return err
		}
		for _, line := range lines {
			s.last[key.Path] = line
			tell(key, line)
		}
		if !running[key] {
			delete(s.tails, key)
			delete(s.last, key.Path)
			if err := tail.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Last gives the last line of each attempt that runs, by path.
func (s *Room) Last() map[string]string { return s.last }

// Close lets go of the files.
func (s *Room) Close() error {
	var all []error
	for _, tail := range s.tails {
		all = append(all, tail.Close())
	}
	return errors.Join(all...)
}

// Leave takes an attempt that has ended out of the room, and gives the number of bytes of its log that were told.
func (s *Room) Leave(v Voice) (int, error) {
	tail := s.tails[v]
	if tail == nil {
		return 0, nil
	}
	delete(s.tails, v)
	return tail.Seen(), tail.Close()
}

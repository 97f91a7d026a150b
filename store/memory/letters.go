package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// openLetter opens a letter, or gives the one that is open already its new error.
func (s *Store) openLetter(r *run, e machine.OpenLetter, at machine.Time) {
	for _, l := range s.letters {
		if l.RunID == r.ID && l.State == machine.LetterOpen && l.Kind == e.Kind && l.Path == e.Path {
			l.err = encodeError(e.Error)
			return
		}
	}
	s.lastID++
	l := &letter{err: encodeError(e.Error)}
	l.Letter = store.Letter{
		ID: s.lastID, Tenant: r.Tenant, RunID: r.ID, Workflow: r.Workflow, Kind: e.Kind, Path: e.Path,
		State: machine.LetterOpen, CreatedAt: at,
	}
	s.letters = append(s.letters, l)
}

func (s *Store) closeLetters(r *run, e machine.CloseLetter, at machine.Time) {
	for _, l := range s.letters {
		meant := l.Kind == e.Kind && l.Path == e.Path || e.Kind == "" && l.Kind != machine.LetterFinally
		if l.RunID == r.ID && l.State == machine.LetterOpen && meant {
			l.State, l.ClosedAt = e.How, at
		}
	}
}

// Letters is [store.Reader.Letters].
func (s *Store) Letters(ctx context.Context, f store.LetterFilter) ([]store.Letter, error) {
	if err := s.enter(ctx, "letters"); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []store.Letter
	for _, l := range slices.Backward(s.letters) {
		if len(out) == cmp.Or(f.Limit, len(f.IDs), store.DefaultRows) {
			break
		}
		if l.selected(&f) {
			found := l.Letter
			found.Error = decodeError(l.err)
			out = append(out, found)
		}
	}
	return out, nil
}

func (l *letter) selected(f *store.LetterFilter) bool {
	return l.Tenant == f.Tenant &&
		(f.RunID == "" || f.RunID == l.RunID) &&
		(f.Workflow == "" || f.Workflow == l.Workflow) &&
		(f.Kind == "" || f.Kind == l.Kind) &&
		(f.Path == "" || f.Path == l.Path) &&
		(f.State == "" || f.State == l.State) &&
		(f.FailedAt == "" || l.err != nil && decodeError(l.err).Step == f.FailedAt) &&
		(f.Code == "" || l.err != nil && decodeError(l.err).Code == f.Code) &&
		(f.Since == 0 || l.CreatedAt >= f.Since) &&
		(f.Until == 0 || l.CreatedAt < f.Until) &&
		(f.IDs == nil || slices.Contains(f.IDs, l.ID)) &&
		(f.Before == 0 || l.ID < f.Before)
}

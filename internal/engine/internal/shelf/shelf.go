// Package shelf keeps definitions that were read: a registered version never changes.
//
// It imports workflow.
package shelf

import (
	"sync"

	"github.com/millrace-go/millrace/workflow"
)

// Shelf keeps definitions by [Key], a thousand at most. It is safe for concurrent use; the zero value is empty.
type Shelf struct {
	mu   sync.RWMutex
	read map[Key]*workflow.Definition
}

// Key names a registered definition.
type Key struct {
	Tenant, Name string
	Version      int
}

const most = 1_000 // kept at once

// Find gives a definition, nil if it is not here.
func (s *Shelf) Find(k Key) *workflow.Definition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read[k]
}

// Keep puts a definition on the shelf, and makes room when it is full.
func (s *Shelf) Keep(k Key, def *workflow.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil || len(s.read) >= most {
		s.read = map[Key]*workflow.Definition{}
	}
	s.read[k] = def
}

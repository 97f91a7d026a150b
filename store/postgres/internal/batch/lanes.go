package batch

import (
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/postgres/internal/wire"
)

// Lanes keeps the names of lanes, which never change. Whether one is paused is asked of the database each time.
type Lanes struct {
	// Schema is the name of that in which the lanes are.
	Schema string

	mu     sync.Mutex
	byID   map[int64]store.Lane
	byName map[store.Lane]struct{} // without ID and Paused: those that are there
}

const maxLanesKept = 100_000

// Keep remembers a lane.
func (l *Lanes) Keep(lane store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil || len(l.byID) >= maxLanesKept {
		l.byID, l.byName = map[int64]store.Lane{}, map[store.Lane]struct{}{}
	}
	lane.Paused = false
	l.byID[lane.ID] = lane
	lane.ID = 0
	l.byName[lane] = struct{}{}
}

// exists says whether the lane with these names is known to be there.
func (l *Lanes) exists(name store.Lane) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.byName[name]
	return ok
}

// Find gives a lane by its id, not paused, if it is remembered.
func (l *Lanes) Find(laneID int64) (store.Lane, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane, ok := l.byID[laneID]
	return lane, ok
}

// Lock has the rest of the pipeline alone with the lanes: a new lane sees every pause, and a pause every lane.
func (l *Lanes) Lock(p *wire.Pipeline) {
	p.Do("select pg_advisory_xact_lock(hashtextextended($1, 0))", "millrace lanes "+l.Schema)
}

// Covered gives the condition that a pause covers the lane of these columns: at most three rows of the primary key.
func Covered(tenant, queue, workflow string) string {
	return fmt.Sprintf(`exists (select from millrace.pauses as c where c.tenant = %s and (
		c.kind = 'tenant' or c.kind = 'queue' and c.name = %s or c.kind = 'workflow' and c.name = %s))`, tenant, queue, workflow)
}

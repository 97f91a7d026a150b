// Package supply divides what there is: the slots of a process among the lanes that may have work for it.
//
// Nouns: [Slots] are how many attempts may run at once, in all and by queue; a [Reservation] promises some of them to a claim
// or a hand-over in flight; [Lanes] are the lanes that this process serves, with which of them may have work. Nothing here is
// safe for concurrent use: the engine's mutex guards it.
package supply

import (
	"maps"
	"slices"
)

// Slots counts how many attempts run here, in all and by queue, and how many more are promised.
type Slots struct {
	total  int
	limits map[string]int // by queue; a queue that is missing has no limit of its own
	used   int
	queues map[string]int
}

// NewSlots gives total slots, of which each queue in limits may use so many at most.
func NewSlots(total int, limits map[string]int) *Slots {
	return &Slots{total: total, limits: maps.Clone(limits), queues: map[string]int{}}
}

// Reservation is a number of slots that nobody else may take meanwhile. It holds nothing before Reserve.
type Reservation struct {
	Total  int
	queues []share // the part of Total that is known to be for a queue; few
}

type share struct {
	queue string
	slots int
}

// NewReservation gives an empty reservation.
func NewReservation() *Reservation { return &Reservation{} }

// Copy gives a reservation of its own that says the same.
func (r *Reservation) Copy() Reservation {
	return Reservation{Total: r.Total, queues: slices.Clone(r.queues)}
}

// Add asks for one more slot, for a task of queue.
func (r *Reservation) Add(queue string) {
	r.Total++
	if s := r.of(queue); s != nil {
		s.slots++
	} else {
		r.queues = append(r.queues, share{queue, 1})
	}
}

// Take uses up a slot of queue, and says whether there was one.
func (r *Reservation) Take(queue string) bool {
	s := r.of(queue)
	if s == nil || s.slots == 0 {
		return false
	}
	s.slots--
	r.Total--
	return true
}

func (r *Reservation) of(queue string) *share {
	for i := range r.queues {
		if r.queues[i].queue == queue {
			return &r.queues[i]
		}
	}
	return nil
}

// Free gives the number of slots that are left in all.
func (s *Slots) Free() int { return max(0, s.total-s.used) }

// Limited says whether a queue has a limit of its own.
func (s *Slots) Limited(queue string) bool {
	_, ok := s.limits[queue]
	return ok
}

// Fits says whether one more task of a queue finds a slot beside what r asks for already.
func (s *Slots) Fits(r *Reservation, queue string) bool {
	if r.Total >= s.Free() {
		return false
	}
	limit, ok := s.limits[queue]
	used := s.queues[queue]
	if more := r.of(queue); more != nil {
		used += more.slots
	}
	return !ok || used < limit
}

// Occupy takes a slot for an attempt of queue.
func (s *Slots) Occupy(queue string) {
	s.used++
	s.queues[queue]++
}

// Leave gives it back.
func (s *Slots) Leave(queue string) {
	s.used--
	if s.queues[queue]--; s.queues[queue] == 0 {
		delete(s.queues, queue)
	}
}

// Reserve promises the slots of r until GiveBack; whoever then got a task occupies one.
func (s *Slots) Reserve(r *Reservation) {
	s.used += r.Total
	for _, one := range r.queues {
		s.queues[one.queue] += one.slots
	}
}

// GiveBack ends a promise; r is empty then.
func (s *Slots) GiveBack(r *Reservation) {
	s.used -= r.Total
	for _, one := range r.queues {
		if s.queues[one.queue] -= one.slots; s.queues[one.queue] == 0 {
			delete(s.queues, one.queue)
		}
	}
	*r = Reservation{}
}

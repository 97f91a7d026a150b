// Package supply divides what there is: the slots of a process among the lanes that may have work for it.
//
// Nouns: [Slots] are how many attempts may run at once, in all and by queue; a [Reservation] promises some of them to a claim
// or a hand-over in flight; [Lanes] are the lanes that this process serves, with which of them may have work. Nothing here is
// safe for concurrent use: the engine's mutex guards it.
package supply

import "maps"

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
	Queues map[string]int // the part of Total that is known to be for a queue
}

// NewReservation gives an empty reservation.
func NewReservation() *Reservation { return &Reservation{} }

// Add asks for one more slot, for a task of queue.
func (r *Reservation) Add(queue string) {
	if r.Total++; r.Queues == nil {
		r.Queues = map[string]int{}
	}
	r.Queues[queue]++
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
	return !ok || s.queues[queue]+r.Queues[queue] < limit
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
	for queue, n := range r.Queues {
		s.queues[queue] += n
	}
}

// GiveBack ends a promise; r is empty then.
func (s *Slots) GiveBack(r *Reservation) {
	s.used -= r.Total
	for queue, n := range r.Queues {
		if s.queues[queue] -= n; s.queues[queue] == 0 {
			delete(s.queues, queue)
		}
	}
	*r = Reservation{}
}

package engine

import "maps"

// slots counts how many attempts run here, in all and by queue, and how many more are promised to claims and hand-overs in
// flight. It is guarded by engine.mu.
type slots struct {
	total  int
	limits map[string]int // by queue; a queue that is missing has no limit of its own
	used   int
	queues map[string]int
}

func newSlots(total int, limits map[string]int) slots {
	return slots{total: total, limits: maps.Clone(limits), queues: map[string]int{}}
}

// reservation is a number of slots that nobody else may take meanwhile.
type reservation struct {
	total  int
	queues map[string]int
}

func newReservation() *reservation { return &reservation{queues: map[string]int{}} }

func (r *reservation) add(queue string) {
	r.total++
	r.queues[queue]++
}

// free gives the number of slots that are left in all.
func (s *slots) free() int { return max(0, s.total-s.used) }

// room gives the number of slots that are left for a queue.
func (s *slots) room(queue string) int {
	n := s.free()
	if limit, ok := s.limits[queue]; ok {
		n = min(n, max(0, limit-s.queues[queue]))
	}
	return n
}

// fits says whether one more task of a queue finds a slot beside what r asks for already.
func (s *slots) fits(r *reservation, queue string) bool {
	if r.total >= s.free() {
		return false
	}
	limit, ok := s.limits[queue]
	return !ok || s.queues[queue]+r.queues[queue] < limit
}

func (s *slots) occupy(queue string) {
	s.used++
	s.queues[queue]++
}

func (s *slots) leave(queue string) {
	s.used--
	if s.queues[queue]--; s.queues[queue] == 0 {
		delete(s.queues, queue)
	}
}

// reserve promises the slots of r; giveBack ends that, and whoever got a task occupies one.
func (s *slots) reserve(r *reservation) {
	s.used += r.total
	for queue, n := range r.queues {
		s.queues[queue] += n
	}
}

func (s *slots) giveBack(r *reservation) {
	s.used -= r.total
	for queue, n := range r.queues {
		if s.queues[queue] -= n; s.queues[queue] == 0 {
			delete(s.queues, queue)
		}
	}
	*r = reservation{}
}

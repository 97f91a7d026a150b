package rounds

import "time"

// Gap is the longest time between two polls that counts as without a gap.
const Gap = 5 * time.Second

// Steady knows for how long the store has answered polls without a gap.
type Steady struct{ since, last time.Time }

// NewSteady gives one that begins now.
func NewSteady(now time.Time) Steady { return Steady{since: now, last: now} }

// Heard notes that a poll succeeded.
func (s *Steady) Heard(now time.Time) {
	if now.Sub(s.last) > Gap || now.Before(s.last) {
		s.since = now
	}
	s.last = now
}

// For gives the time since the last gap ended.
func (s *Steady) For(now time.Time) time.Duration { return now.Sub(s.since) }

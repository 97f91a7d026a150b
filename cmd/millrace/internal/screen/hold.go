package screen

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace"
)

// Driver is the process that drives a run and shows it. Zero is one that only looks.
type Driver struct {
	Owner string    // under which it holds attempts
	Since time.Time // when it began
}

// waitsFor says whether the driver has to wait for another process that holds an attempt: one that began before the driver did.
// It does not for a moment, since the death of a process may be found out at once.
func (d Driver) waitsFor(h *millrace.HoldView, began *time.Time, now time.Time) bool {
	return d.Owner != "" && h != nil && h.By != d.Owner && began != nil && began.Before(d.Since) && now.Sub(d.Since) >= patience
}

// hold tells of an attempt that another process holds, empty when there is nothing to wait for. Who only looks is told of one that
// was not heard of.
func (f Frame) hold(h *millrace.HoldView, began *time.Time) string {
	if f.Driver.Owner == "" && h != nil && !h.Until.After(f.Now) {
		return "the lease of " + Clean(h.By) + " has ended: others take it up"
	}
	if !f.Driver.waitsFor(h, began, f.Now) {
		return ""
	}
	text := "waiting for the lease of " + Clean(h.By)
	if h.Until.After(f.Now) {
		return text + ", which ends in " + Span(h.Until.Sub(f.Now))
	}
	return text + ", which has ended"
}

// holds tells which attempts other processes hold, once for each process and step.
func (p *Progress) holds(v *millrace.View, now time.Time) []string {
	until := map[string]time.Time{}
	paths := map[string][]string{}
	note := func(path string, h *millrace.HoldView, began *time.Time) {
		if !p.Driver.waitsFor(h, began, now) || p.held[path] == h.By {
			return
		}
		p.held[path] = h.By
		paths[h.By] = append(paths[h.By], path)
		if h.Until.After(until[h.By]) {
			until[h.By] = h.Until
		}
	}
	for _, s := range v.Steps {
		note(s.Path, s.Hold, s.AttemptAt)
		if u := s.Undo; u != nil {
			note(u.Path, u.Hold, u.AttemptAt)
		}
	}
	var out []string
	for _, by := range slices.Sorted(maps.Keys(paths)) {
		out = append(out, some(paths[by])+": waiting for the lease of "+Clean(by)+" until "+until[by].UTC().Format(time.RFC3339)+
			", unless that process goes on")
	}
	return out
}

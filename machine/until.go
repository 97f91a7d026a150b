package machine

import (
	"strings"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

// Until gives when an attempt of the task at path is no longer worth its while: when the time is over for which the step's
// policies try it again (`for`), counted from when the task first became ready. 0: it is not bounded, for which one policy
// without a `for` is enough. ready is when this attempt became ready; run has the documents of the path. The deadline of the run
// is not an attempt's: it moves with a pause, and stops what runs by its own name.
func Until(def *workflow.Definition, run *Run, path string, ready Time) Time {
	sp, err := locate(def, path)
	if err != nil {
		return 0
	}
	bound := longestFor(sp.step)
	if bound == 0 {
		return 0
	}
	since := ready
	if live := liveAt(run, sp); live != nil && live.Since != 0 {
		since = live.Since
	}
	return since.Add(bound)
}

// longestFor is the longest of the times for which the policies of a step try; 0 when one has no such bound, or there is none.
func longestFor(s *workflow.Step) (longest time.Duration) {
	for i := range s.Retry {
		if s.Retry[i].For == 0 {
			return 0
		}
		longest = max(longest, s.Retry[i].For)
	}
	return longest
}

// liveAt gives what is remembered of an activation, as far as its document is loaded.
func liveAt(run *Run, sp spot) *Live {
	p := sp.at
	switch {
	case sp.undone != nil:
		return liveUndo(run, sp)
	case p.isItemTask():
		if c := run.Chunks[chunkPath(p.ownerPath, p.slot)]; c != nil {
			return c.Live[p.slot%ChunkSize]
		}
	case p.path == "":
		return run.Root.Live[sp.step.Index]
	default:
		if sc := run.Scopes[p.path]; sc != nil {
			return sc.Live[sp.step.Index]
		}
	}
	return nil
}

// liveUndo is liveAt for a compensation.
func liveUndo(run *Run, sp spot) *Live {
	path := strings.TrimSuffix(sp.at.path, UndoSuffix)
	of := func(d *Undoing) *Live {
		if d != nil && d.Task != nil && run.recordPath(d.Task.Record) == path {
			return &d.Task.Live
		}
		return nil
	}
	for q, s := sp.undone.at, sp.undone.step; q != nil; q, s = q.up, q.owner {
		sc := run.Root
		if q.path != "" {
			sc = run.Scopes[q.path]
		}
		if sc == nil {
			continue
		}
		if s != nil && sc.Live[s.Index] != nil && sc.Live[s.Index].Box != nil {
			if live := of(sc.Live[s.Index].Box.Undo); live != nil {
				return live
			}
		}
		if live := of(sc.Undo); live != nil {
			return live
		}
	}
	return nil
}

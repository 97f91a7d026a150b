package millrace

import "github.com/millrace-go/millrace/machine"

// runReason says more about a run than its status does: who paused, cancelled or aborted it, and why; else what stops it.
func runReason(run *machine.Run, h *history) string {
	switch stop := run.Root.Stop; {
	case run.Status == machine.Paused && h.order.pause != nil:
		return h.order.pause.words("")
	case run.Status == machine.Aborted && h.order.kind == machine.AbortRequested,
		run.Status == machine.Cancelled && h.order.kind == machine.CancelRequested:
		return h.order.words("")
	case stop == nil || run.Status.Ended():
		return ""
	case stop.Reason == machine.ByCancel && h.order.kind == machine.CancelRequested:
		return h.order.words("cancelled ")
	default:
		return string(stop.Reason)
	}
}

// words says who and why.
func (o *ordered) words(what string) string {
	by := o.by
	if by == "" {
		by = "somebody"
	}
	if o.reason == "" {
		return what + "by " + by
	}
	return what + "by " + by + ": " + o.reason
}

// ending is the part of a run's id by which people call it.
func ending(id string) string { return id[max(0, len(id)-8):] }

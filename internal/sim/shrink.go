package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// notAWorkflow begins the fault of a plan that lost too much.
const notAWorkflow = "a plan is no workflow"

// maxShrink bounds the simulations of one search for a smaller failure.
const maxShrink = 1500

// Shrink looks for a smaller failure of a seed that fails: fewer steps, fewer disturbances, and workflows from which pieces were
// cut. It gives what to run, and what that came to.
func Shrink(ctx context.Context, seed uint64, o Options) (Options, Report) {
	s := &shrinking{ctx: ctx, seed: seed, best: o, report: Run(ctx, seed, o), left: maxShrink}
	if len(s.report.Faults) == 0 {
		return o, s.report
	}
	s.fewerSteps()
	for _, without := range []string{"orders", "mischief", "events"} {
		s.try(func(o *Options) { o.Without = append(slices.Clone(o.Without), without) })
	}
	for piece := s.report.Pieces - 1; piece >= 0; piece-- {
		s.try(func(o *Options) { o.Cut = append(slices.Clone(o.Cut), piece) })
	}
	s.fewerSteps()
	return s.best, s.report
}

type shrinking struct {
	ctx    context.Context //nolint:containedctx // a search is one call
	seed   uint64
	best   Options
	report Report
	left   int
}

// try keeps a change after which the seed still fails.
func (s *shrinking) try(change func(*Options)) bool {
	if s.left == 0 || s.ctx.Err() != nil {
		return false
	}
	s.left--
	o := s.best
	change(&o)
	r := Run(s.ctx, s.seed, o)
	if len(r.Faults) == 0 || r.Hash == s.report.Hash || strings.HasPrefix(r.Faults[0], notAWorkflow) {
		return false
	}
	s.best, s.report = o, r
	return true
}

func (s *shrinking) fewerSteps() {
	s.try(func(o *Options) { o.Steps = max(s.report.Steps, 1) })
	for by := max(s.best.Steps, defaultSteps) / 2; by > 0; by /= 2 {
		for s.best.Steps > by && s.try(func(o *Options) { o.Steps -= by }) {
		}
	}
}

// String gives the settings of the test that repeat what the options say.
func (o Options) String() string {
	cut := make([]string, len(o.Cut))
	for i, piece := range o.Cut {
		cut[i] = fmt.Sprint(piece)
	}
	return fmt.Sprintf("MILLRACE_SIM_STEPS=%d MILLRACE_SIM_WITHOUT=%s MILLRACE_SIM_CUT=%s", o.Steps, strings.Join(o.Without, ","), strings.Join(cut, ","))
}

package machine

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/workflow"
)

// retry decides whether a failed activation is tried again, and when. It counts the failure in l.
func (t *turn) retry(s *workflow.Step, l *Live, path string, e *Error) (due Time, again bool) {
	if e.Final || e.Permanent {
		return 0, false
	}
	if s.AtMostOnce && e.Code == CodeLost {
		unknown := LostError(s)
		e.Code, e.Message = unknown.Code, unknown.Message
		return 0, false
	}
	i, policy, ok := match(s, e)
	if !ok {
		return 0, false
	}
	n := l.Counts[i] + 1
	set(&l.Counts, i, n)
	attempts := policy.Attempts
	if len(policy.Delays) > 0 {
		attempts = len(policy.Delays) + 1
	}
	if n >= attempts {
		return 0, false
	}
	delay := backoff(&policy, n, identity(t.run.ID, path, l.Attempt))
	if e.RetryAfterMS != nil {
		delay = time.Duration(*e.RetryAfterMS) * time.Millisecond
	}
	due = t.run.At.Add(delay)
	if policy.For > 0 && due >= l.Since.Add(policy.For) {
		return 0, false
	}
	return due, true
}

// match finds the policy that covers an error: the first of the step's own, else the default one for what is plainly passing.
func match(s *workflow.Step, e *Error) (int, workflow.RetryPolicy, bool) {
	for i := range s.Retry {
		if covers(s.Retry[i].Only, s.Retry[i].Except, e) {
			return i, s.Retry[i], true
		}
	}
	if s.Retry == nil && s.IsTask && (e.Passing || passing(e.Code)) {
		return 0, workflow.DefaultRetry(), true
	}
	return 0, workflow.RetryPolicy{}, false
}

// covers says whether only and except let an error through. They name codes, classes of HTTP statuses (http_4xx, http_5xx),
// or `passing`: what the default policy tries again.
func covers(only, except []string, e *Error) bool {
	named := func(code string) bool {
		switch code {
		case "http_4xx", "http_5xx":
			return len(e.Code) == len(code) && e.Code[:len("http_4")] == code[:len("http_4")]
		case "passing":
			return e.Passing || passing(e.Code)
		}
		return code == e.Code
	}
	return (len(only) == 0 || slices.ContainsFunc(only, named)) && !slices.ContainsFunc(except, named)
}

// passing lists the codes that are plainly passing (docs/format.md 5).
func passing(code string) bool {
	switch code {
	case CodeLost, "exit_75", "signal", "connect", "http_408", "http_429":
		return true
	}
	return len(code) == len("http_500") && strings.HasPrefix(code, "http_5")
}

// backoff is the delay after the n-th failure; u in [0, 1) is the attempt's own share of the jitter.
func backoff(p *workflow.RetryPolicy, n int, u float64) time.Duration {
	if len(p.Delays) > 0 {
		return p.Delays[min(n, len(p.Delays))-1]
	}
	d := float64(p.Delay)
	switch p.Grow {
	case workflow.Constant:
	case workflow.Linear:
		d *= float64(n)
	default:
		d *= math.Pow(p.Factor, float64(n-1))
	}
	d *= 1 - p.Jitter + 2*p.Jitter*u
	if p.MaxDelay > 0 {
		d = min(d, float64(p.MaxDelay))
	}
	if !(d < float64(maxBackoff)) {
		return maxBackoff
	}
	return max(0, time.Duration(d))
}

const maxBackoff = 365 * 24 * time.Hour

package workflow

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/workflow/internal/document"
	"github.com/millrace-go/millrace/workflow/internal/format"
)

// fitting is how many attempts a policy has that bounds them by time alone.
const fitting = 10_000

// retries reads `retry`.
func (r *reader) retries(n *document.Node) []RetryPolicy {
	if n == nil {
		return nil
	}
	var policies []RetryPolicy
	for _, item := range n.Each() {
		p := DefaultRetry()
		if item.Kind == document.Number {
			p.Attempts = number[int](item)
		} else {
			r.retry(item, &p)
		}
		policies = append(policies, p)
	}
	return policies
}

func (r *reader) retry(n *document.Node, p *RetryPolicy) {
	if v := n.Get("attempts"); v != nil {
		p.Attempts = number[int](v)
	} else if n.Get("for") != nil {
		p.Attempts = fitting
	}
	if v := n.Get("factor"); v != nil {
		p.Factor = number[float64](v)
	}
	if v := n.Get("jitter"); v != nil {
		p.Jitter = number[float64](v)
	}
	if v := n.Get("delay"); v != nil {
		p.Delay = span(n, "delay")
		p.MaxDelay = max(p.MaxDelay, p.Delay)
	}
	if v := n.Get("max_delay"); v != nil {
		p.MaxDelay = span(n, "max_delay")
	}
	if v := n.Get("grow"); v != nil {
		p.Grow = Grow(v.Text)
	}
	p.Only, p.Except, p.For = r.codes(n, "only"), r.codes(n, "except"), span(n, "for")
	if v := n.Get("delays"); v != nil {
		for _, item := range v.Items {
			d, _ := format.ParseDuration(item.Text) // checked before
			p.Delays = append(p.Delays, d)
		}
		if i := n.Find("attempts"); i >= 0 && p.Attempts != len(p.Delays)+1 {
			r.Add(n.Keys[i], fmt.Sprintf("leave it out, or write %d", len(p.Delays)+1), "`attempts` contradicts `delays`, a list of %d", len(p.Delays))
		}
		p.Attempts = len(p.Delays) + 1
	}
}

// codeFamily is what looks like a family of codes.
var codeFamily = regexp.MustCompile(`(?i)^(http_)?[0-9][x*]{1,2}$|^http_\*$`)

// codes reads the error codes of `only` or `except`.
func (r *reader) codes(n *document.Node, key string) []string {
	v := n.Get(key)
	if v == nil {
		return nil
	}
	for _, item := range v.Each() {
		if codeFamily.MatchString(item.Text) && item.Text != "http_4xx" && item.Text != "http_5xx" {
			r.Add(item, "write http_4xx or http_5xx, or the codes themselves", "`%s` is no code and no family of codes", item.Text)
		}
	}
	return texts(n, key)
}

// joinOf reads `join`.
func joinOf(n *document.Node) Join {
	switch {
	case n == nil:
		return Join{}
	case n.Kind == document.Number:
		return Join{Kind: JoinCount, N: number[int](n)}
	}
	return Join{Kind: map[string]JoinKind{"settled": JoinSettled, "any": JoinAny}[n.Text]}
}

// The following read members that were checked before; they give the zero value for one that is not there.

func text(n *document.Node, key string) string {
	if v := n.Get(key); v != nil {
		return v.Text
	}
	return ""
}

func set(n *document.Node, key string) bool { return n.Get(key).Is("true") }

func texts(n *document.Node, key string) []string {
	v := n.Get(key)
	if v == nil || len(v.Items) == 0 && v.Kind == document.List {
		return nil
	}
	var all []string
	for _, item := range v.Each() {
		all = append(all, item.Text)
	}
	return all
}

func span(n *document.Node, key string) time.Duration {
	d, _ := format.ParseDuration(text(n, key))
	return d
}

func integer(n *document.Node, key string) int64 {
	if v := n.Get(key); v != nil {
		return number[int64](v)
	}
	return 0
}

func number[T int | int64 | float64](n *document.Node) T {
	v, _ := strconv.ParseFloat(n.Text, 64)
	return T(v)
}

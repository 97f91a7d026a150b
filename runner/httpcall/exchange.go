package httpcall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// exchange is one call under way.
type exchange struct {
	caller *Caller
	call   Call
	log    []byte
}

const (
	asideBytes = 64 << 10        // of the body of an answer that is not the output
	asideTime  = 5 * time.Second // how long it is waited for
)

// run sends the request, follows redirects, and judges the answer.
func (x *exchange) run(ctx context.Context) Result {
	r, failure := x.caller.newRequest(x.call)
	if failure != nil {
		return Result{Failure: failure, Log: x.log}
	}
	seen := map[string]bool{}
	for hops := 0; ; hops++ {
		seen[r.url.String()] = true
		resp, err := x.send(ctx, r) //nolint:bodyclose // succeeded, failed and aside close it
		if err != nil {
			return x.unanswered(ctx, r, err)
		}
		x.note("%s: %s", r, statusText(resp.StatusCode))
		if x.expected(resp.StatusCode) {
			return x.succeeded(ctx, r, resp)
		}
		if !isRedirect(resp) {
			return x.failed(ctx, r, resp, nil)
		}
		next, err := r.redirected(resp)
		switch {
		case err != nil:
		case seen[next.url.String()]:
			err = fmt.Errorf("the redirects go in a circle: it leads to %s again", shown(next.url))
		case hops >= x.caller.limits.Redirects:
			err = errors.New("more than " + plain.Count(int64(max(x.caller.limits.Redirects, 0)), "redirect"))
		}
		if err != nil {
			return x.failed(ctx, r, resp, err)
		}
		_ = x.aside(ctx, resp)
		if ctx.Err() != nil {
			return x.unanswered(ctx, next, ctx.Err())
		}
		r = next
	}
}

// send sends one request. The caller closes the body of the answer.
func (x *exchange) send(ctx context.Context, r *request) (*http.Response, error) {
	out, err := r.wire(settleFirst(ctx))
	if err != nil {
		return nil, err
	}
	return x.caller.transport.RoundTrip(out)
}

// expected says whether a status is success.
func (x *exchange) expected(status int) bool {
	if x.call.Expect == nil {
		return status >= 200 && status <= 299 && x.call.Codes[status] == ""
	}
	return slices.ContainsFunc(x.call.Expect, func(s Statuses) bool { return status >= s.From && status <= s.To })
}

// unanswered is the result of a request to which no answer came.
func (x *exchange) unanswered(ctx context.Context, r *request, err error) Result {
	if ctx.Err() != nil {
		x.note("%s: stopped", r)
		return Result{Failure: stopped(r), Stopped: true, Log: x.log}
	}
	failure := explain(r, err)
	x.note("%s", failure.Message)
	return Result{Failure: failure, Log: x.log}
}

// succeeded makes the output of an answer that was expected.
func (x *exchange) succeeded(ctx context.Context, r *request, resp *http.Response) Result {
	defer func() { _ = resp.Body.Close() }()
	result := Result{Status: resp.StatusCode}
	result.Output, result.Failure = x.output(r, resp)
	if result.Failure != nil && result.Failure.Code == codeConnect && ctx.Err() != nil {
		result.Failure, result.Stopped = stopped(r), true
	}
	if result.Failure != nil {
		x.note("%s", result.Failure.Message)
	}
	result.Log = x.log
	return result
}

// failed is the result of an answer that is a failure. unfollowed is why a redirect was not followed.
func (x *exchange) failed(ctx context.Context, r *request, resp *http.Response, unfollowed error) Result {
	status := resp.StatusCode
	started := x.aside(ctx, resp)
	text := fmt.Sprintf("%s answered %s", r, statusText(status))
	if unfollowed != nil {
		text += ": not followed: " + unfollowed.Error()
		x.note("not followed: %v", unfollowed)
		started = body{} // it repeats the address, with its query
	}
	data, excerpt := errorData(resp, started)
	if excerpt != "" {
		x.note("%s", excerpt)
	}
	failure := &Failure{Code: x.code(status), Message: plain.Message(text), Data: data, Passing: passing(status)}
	if failure.Passing {
		failure.RetryAfter = retryAfter(resp.Header, x.caller.now())
	}
	return Result{Status: status, Failure: failure, Log: x.log}
}

// aside gives the beginning of the body of an answer that is not the output, and closes it. Such a body is waited for no
// longer than asideTime; what came until then is given. When that time is over, the connection is closed.
func (x *exchange) aside(ctx context.Context, resp *http.Response) body {
	defer func() { _ = resp.Body.Close() }()
	bounded, done := context.WithTimeout(ctx, x.caller.asideTime)
	defer done()
	closing := context.AfterFunc(bounded, func() { _ = resp.Body.Close() })
	defer closing()
	return readBody(resp, asideBytes)
}

// note adds a line to the log.
func (x *exchange) note(format string, args ...any) {
	x.log = fmt.Appendln(x.log, plain.Clean(fmt.Sprintf(format, args...)))
}

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprint(status)
}

package httpcall

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// harmless are the headers that go along to another host: they say what is wanted and what is sent, but not by whom. Any
// other may hold a secret.
var harmless = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Language", "Content-Type",
	"Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "If-Unmodified-Since", "Range", "Traceparent", "Tracestate",
	"User-Agent",
}

// isRedirect says whether an answer leads elsewhere.
func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	default:
		return false
	}
}

// redirected gives the request that a redirect asks for, or why it is not followed.
func (r *request) redirected(resp *http.Response) (*request, error) {
	keepsMethod := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	if !keepsMethod && r.method != http.MethodGet && r.method != http.MethodHead {
		return nil, fmt.Errorf("a redirect of %s is followed only with 307 or 308: call the final address, or add %d to expect", r.method, resp.StatusCode)
	}
	to, err := r.url.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the address that it leads to cannot be read")
	case to.Scheme != "http" && to.Scheme != "https":
		return nil, fmt.Errorf("it leads to %s:, and only http and https are followed", plain.Cut(to.Scheme, 20))
	case r.url.Scheme == "https" && to.Scheme == "http":
		return nil, fmt.Errorf("it leads from https to http: %s", shown(to))
	case to.Hostname() == "":
		return nil, fmt.Errorf("it leads to no host")
	case to.User != nil:
		return nil, fmt.Errorf("it leads to an address with a user or password in it")
	}
	to.Fragment, to.RawFragment = "", ""
	to.RawQuery = escapeQuery(to.RawQuery)
	next := &request{method: r.method, url: to, header: r.header, host: r.host, body: r.body}
	if !sameHost(r.url, to) {
		next.host, next.header = "", http.Header{}
		for name, values := range r.header {
			if slices.Contains(harmless, name) {
				next.header[name] = values
			}
		}
	}
	return next, nil
}

// sameHost says whether what one address was told may be told the other: the same host and port, or the same host where
// plain http at its usual port has moved to https at its usual port.
func sameHost(from, to *url.URL) bool {
	if from.Hostname() != to.Hostname() {
		return false
	}
	moved := from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
	return moved || from.Scheme == to.Scheme && port(from) == port(to)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

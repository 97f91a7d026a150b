package httpcall

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// request is one request of an exchange; a redirect makes another of it.
type request struct {
	method string
	url    *url.URL
	header http.Header
	host   string // as the call's headers say; "": that of the url
	body   []byte
}

// owned are the headers that say how a message is carried, which is for the connection to decide.
var owned = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// newRequest makes the first request of a call, or says what is wrong with the call.
func (c *Caller) newRequest(call Call) (*request, *Failure) {
	r := &request{header: http.Header{}}
	var failure *Failure
	if r.url, failure = readURL(call.URL); failure != nil {
		return nil, failure
	}
	if len(call.Query) > 0 {
		if r.url.RawQuery != "" {
			r.url.RawQuery += "&"
		}
		r.url.RawQuery += encodePairs(call.Query)
	}
	contentType, failure := r.setBody(call)
	if failure != nil {
		return nil, failure
	}
	if failure := r.setMethod(call.Method); failure != nil {
		return nil, failure
	}
	if failure := r.setHeader(call.Header); failure != nil {
		return nil, failure
	}
	r.byDefault("User-Agent", c.userAgent)
	if r.method != http.MethodHead && r.header.Get("Range") == "" { // a part of something packed cannot be unpacked
		r.byDefault("Accept-Encoding", "gzip")
	}
	r.byDefault("Content-Type", contentType)
	r.byDefault("Traceparent", call.Traceparent)
	if r.method != http.MethodGet && r.method != http.MethodHead {
		r.byDefault("Idempotency-Key", call.Key)
	}
	return r, checkHeader(r.header)
}

// readURL reads the address of a call. No part of one that cannot be read is shown: it may hold anything.
func readURL(text string) (*url.URL, *Failure) {
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, refuse("url has a line end or another control character in it: take it out, or encode the value")
	case err != nil:
		return nil, refuse("url cannot be read: write it as http://HOST/PATH or https://HOST/PATH")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("url begins with %q: only http:// and https:// can be called", plain.Cut(u.Scheme, 20)+":")
	case u.Hostname() == "":
		return nil, refuse("url names no host: write it as %s://HOST/PATH", u.Scheme)
	case u.User != nil:
		return nil, refuse("url of %s has a user or password in it: put them into the header Authorization, where secrets may stand", plain.Cut(u.Host, shownBytes))
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return u, nil
}

// escapeQuery encodes what may not stand in a query, and leaves the rest as it is written.
func escapeQuery(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// encodePairs writes pairs in their order as forms do.
func encodePairs(pairs []Pair) string {
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = url.QueryEscape(p.Name) + "=" + url.QueryEscape(p.Value)
	}
	return strings.Join(parts, "&")
}

// setBody sets the body and gives its type; "" for none.
func (r *request) setBody(call Call) (contentType string, failure *Failure) {
	kinds := 0
	if call.JSON != nil {
		r.body, contentType = call.JSON, "application/json"
		kinds++
	}
	if call.Form != nil {
		r.body, contentType = []byte(encodePairs(call.Form)), "application/x-www-form-urlencoded"
		kinds++
	}
	if call.Body != "" {
		r.body, contentType = []byte(call.Body), "text/plain; charset=utf-8"
		kinds++
	}
	if kinds > 1 {
		return "", refuse("more than one of json, form and body is set: keep one")
	}
	return contentType, nil
}

func (r *request) setMethod(method string) *Failure {
	r.method = strings.ToUpper(method)
	switch {
	case method == "" && r.body == nil:
		r.method = http.MethodGet
	case method == "":
		r.method = http.MethodPost
	case !isToken(method) || r.method == http.MethodConnect:
		return refuse("method %q cannot be called: write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS", plain.Cut(method, 20))
	}
	return nil
}

// setHeader adds the call's own headers.
func (r *request) setHeader(pairs []Pair) *Failure {
	for _, p := range pairs {
		name := http.CanonicalHeaderKey(p.Name)
		switch {
		case !isToken(p.Name):
			return refuse("%q cannot be the name of a header: use letters, digits and -", plain.Cut(p.Name, 100))
		case slices.Contains(owned, name):
			return refuse("header %s says how the request is carried, and is set by the connection: leave it out", name)
		case name == "Host":
			r.host = p.Value
		default:
			r.header.Add(name, p.Value)
		}
	}
	return checkHeader(http.Header{"Host": {r.host}})
}

// byDefault sets a header that the call does not.
func (r *request) byDefault(name, value string) {
	if _, ok := r.header[name]; !ok && value != "" {
		r.header[name] = []string{value}
	}
}

// checkHeader finds values that cannot be sent. Values are never shown.
func checkHeader(header http.Header) *Failure {
	for name, values := range header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return refuse("the value of header %s has a line end or another control character in it: take it out (a secret from a file often ends with one)", name)
			}
		}
	}
	return nil
}

// isToken says whether text can be the name of a header or a method (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// wire gives the request as it is sent.
func (r *request) wire(ctx context.Context) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	out.URL, out.Host = r.url, r.host
	out.Header = r.header.Clone()
	// net/http would take the key, if it knew it, for leave to send a request again of which it cannot say whether the
	// server has begun to work on it. Whether to, is for the step's retry policy; names of headers have no case.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if key, ok := out.Header[name]; ok {
			delete(out.Header, name)
			out.Header[strings.ToLower(name)] = key
		}
	}
	return out, nil
}

// String shows the request without what may be secret: its query and its headers.
func (r *request) String() string { return r.method + " " + shown(r.url) }

const shownBytes = 300 // of an address that is shown

// shown gives scheme, host and path of an address.
func shown(u *url.URL) string {
	return plain.Cut(u.Scheme+"://"+u.Host+u.EscapedPath(), shownBytes)
}

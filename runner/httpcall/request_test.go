package httpcall

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestARequestIsSentAsTheCallSays(t *testing.T) {
	t.Parallel()
	const agent = "millrace/1.2"
	tests := map[string]struct {
		call   Call
		line   string
		header map[string]string // beside Host, Content-Length, User-Agent and Accept-Encoding
		body   string
	}{
		"GET by default":               {Call{URL: "/a"}, "GET /a", nil, ""},
		"POST with a body":             {Call{URL: "/a", JSON: json.RawMessage(`{"n": 1.10}`)}, "POST /a", map[string]string{"Content-Type": "application/json"}, `{"n": 1.10}`},
		"small letters":                {Call{URL: "/a", Method: "delete"}, "DELETE /a", nil, ""},
		"a body with GET":              {Call{URL: "/a", Method: "GET", JSON: json.RawMessage(`1`)}, "GET /a", map[string]string{"Content-Type": "application/json"}, `1`},
		"no path":                      {Call{URL: ""}, "GET /", nil, ""},
		"a space in the path":          {Call{URL: "/a b/ä"}, "GET /a%20b/%C3%A4", nil, ""},
		"a space in the query":         {Call{URL: "/a?q=x y\"ä&z=%20"}, "GET /a?q=x%20y%22%C3%A4&z=%20", nil, ""},
		"a fragment":                   {Call{URL: "/a?b#c"}, "GET /a?b", nil, ""},
		"query in its order":           {Call{URL: "/a", Query: []Pair{{"z", "1"}, {"a", "x y&="}, {"z", ""}}}, "GET /a?z=1&a=x+y%26%3D&z=", nil, ""},
		"query after the URL's own":    {Call{URL: "/a?b=1#c", Query: []Pair{{"c", "2"}}}, "GET /a?b=1&c=2", nil, ""},
		"form":                         {Call{URL: "/a", Form: []Pair{{"b", "1"}, {"a", "ä"}}}, "POST /a", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "b=1&a=%C3%A4"},
		"text":                         {Call{URL: "/a", Method: "PUT", Body: "hello"}, "PUT /a", map[string]string{"Content-Type": "text/plain; charset=utf-8"}, "hello"},
		"text of another type":         {Call{URL: "/a", Body: "<a/>", Header: []Pair{{"content-type", "text/xml"}}}, "POST /a", map[string]string{"Content-Type": "text/xml"}, "<a/>"},
		"headers of one name":          {Call{URL: "/a", Header: []Pair{{"X-A", "1"}, {"x-a", "2"}}}, "GET /a", map[string]string{"X-A": "1|2"}, ""},
		"key":                          {Call{URL: "/a", Method: "POST", Key: "k"}, "POST /a", map[string]string{"Idempotency-Key": "k"}, ""},
		"key with DELETE":              {Call{URL: "/a", Method: "DELETE", Key: "k"}, "DELETE /a", map[string]string{"Idempotency-Key": "k"}, ""},
		"no key with GET":              {Call{URL: "/a", Key: "k"}, "GET /a", nil, ""},
		"no key with HEAD":             {Call{URL: "/a", Method: "HEAD", Key: "k"}, "HEAD /a", nil, ""},
		"a key of one's own":           {Call{URL: "/a", Method: "POST", Key: "k", Header: []Pair{{"idempotency-key", "own"}}}, "POST /a", map[string]string{"Idempotency-Key": "own"}, ""},
		"the other key of one's own":   {Call{URL: "/a", Method: "POST", Header: []Pair{{"X-Idempotency-Key", "own"}}}, "POST /a", map[string]string{"X-Idempotency-Key": "own"}, ""},
		"traceparent":                  {Call{URL: "/a", Traceparent: "00-1-2-01"}, "GET /a", map[string]string{"Traceparent": "00-1-2-01"}, ""},
		"a traceparent of one's own":   {Call{URL: "/a", Traceparent: "00-1-2-01", Header: []Pair{{"Traceparent", "own"}}}, "GET /a", map[string]string{"Traceparent": "own"}, ""},
		"agent of one's own":           {Call{URL: "/a", Header: []Pair{{"user-agent", "own"}}}, "GET /a", map[string]string{"User-Agent": "own"}, ""},
		"encoding of one's own":        {Call{URL: "/a", Header: []Pair{{"accept-encoding", "identity"}}}, "GET /a", map[string]string{"Accept-Encoding": "identity"}, ""},
		"a part, not packed":           {Call{URL: "/a", Header: []Pair{{"range", "bytes=0-9"}}}, "GET /a", map[string]string{"Range": "bytes=0-9"}, ""},
		"host of one's own":            {Call{URL: "/a", Header: []Pair{{"host", "own.test"}}}, "GET /a", map[string]string{"Host": "own.test"}, ""},
		"a body that is asked for":     {Call{URL: "/a", Body: "hello", Header: []Pair{{"Expect", "100-continue"}}}, "POST /a", map[string]string{"Content-Type": "text/plain; charset=utf-8", "Expect": "100-continue"}, "hello"},
		"tab and letters in a header":  {Call{URL: "/a", Header: []Pair{{"X-A", "a\tä"}}}, "GET /a", map[string]string{"X-A": "a\tä"}, ""},
		"an address of capital scheme": {Call{URL: "HTTP"}, "GET /", nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, nothing)
			c := test.call
			if c.URL == "HTTP" {
				c.URL = strings.Replace(s.URL, "http", "HTTP", 1)
			} else {
				c.URL = s.URL + c.URL
			}
			wantOutput(t, call(t, Config{UserAgent: agent}, c), "null")
			got := s.requests()[0]
			want := map[string]string{"User-Agent": agent, "Host": s.Listener.Addr().String()}
			if c.Method != "HEAD" && test.header["Range"] == "" {
				want["Accept-Encoding"] = "gzip"
			}
			maps.Copy(want, test.header)
			header := map[string]string{}
			for name, values := range got.Header {
				header[name] = strings.Join(values, "|")
			}
			delete(header, "Content-Length")
			if diff := cmp.Diff(want, header); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(seen{Line: test.line, Body: test.body}, seen{Line: got.Line, Body: got.Body}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACallerSaysWhoItIsByDefault(t *testing.T) {
	t.Parallel()
	s := record(t, nothing)
	call(t, Config{}, Call{URL: s.URL})
	if got := s.requests()[0].Header.Get("User-Agent"); got != "millrace" {
		t.Errorf("user agent %q", got)
	}
}

func TestACallThatCannotBeSentIsRefusedWithoutShowingIt(t *testing.T) {
	t.Parallel()
	const at = "http://127.0.0.1:1"
	tests := map[string]struct {
		call Call
		says string
	}{
		"no address":                {Call{}, "only http:// and https://"},
		"no scheme":                 {Call{URL: "payments.test/" + canary}, "only http:// and https://"},
		"no address at all":         {Call{URL: "http://[" + canary}, "cannot be read"},
		"no port":                   {Call{URL: "http://user:" + canary + "#ss@payments.test"}, "cannot be read"},
		"a file":                    {Call{URL: "file:///etc/passwd"}, `begins with "file:"`},
		"a long scheme":             {Call{URL: strings.Repeat("x", 500) + "://a"}, "..."},
		"no host":                   {Call{URL: "https:///" + canary}, "names no host"},
		"a port alone":              {Call{URL: "https://:443/" + canary}, "names no host"},
		"a password":                {Call{URL: "https://me:" + canary + "@payments.test/"}, "url of payments.test has a user or password"},
		"a line end in the address": {Call{URL: at + "/\r\nX: " + canary}, "url has a line end"},
		"a line end in a name":      {Call{URL: at, Header: []Pair{{"X\nA", "1"}}}, "cannot be the name of a header"},
		"an empty name":             {Call{URL: at, Header: []Pair{{"", "1"}}}, "cannot be the name of a header"},
		"a line end in a header":    {Call{URL: at, Header: []Pair{{"authorization", canary + "\n"}}}, "the value of header Authorization has a line end"},
		"a line end in the host":    {Call{URL: at, Header: []Pair{{"Host", "a\nb"}}}, "the value of header Host"},
		"a NUL in the key":          {Call{URL: at, Method: "POST", Key: "a\x00"}, "the value of header Idempotency-Key"},
		"a length of one's own":     {Call{URL: at, Header: []Pair{{"content-length", "5"}}}, "header Content-Length says how"},
		"chunks of one's own":       {Call{URL: at, Header: []Pair{{"Transfer-Encoding", "chunked"}}}, "header Transfer-Encoding says how"},
		"a protocol of one's own":   {Call{URL: at, Header: []Pair{{"upgrade", "h2c"}}}, "header Upgrade says how"},
		"CONNECT":                   {Call{URL: at, Method: "connect"}, `method "connect" cannot be called`},
		"no method":                 {Call{URL: at, Method: "GET / HTTP/1.1"}, "cannot be called"},
		"two bodies":                {Call{URL: at, Body: "a", Form: []Pair{{"a", "b"}}}, "more than one of json, form and body"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wantFailure(t, call(t, Config{}, test.call), "connect", "the request cannot be sent: ", test.says)
			wantKind(t, f, "permanent")
			if f.Data != nil {
				t.Errorf("data %s", f.Data)
			}
		})
	}
}

func TestAnyTextInAQueryArrivesAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		r, failure := New(Config{}).newRequest(Call{URL: "http://a.test/?own=" + strings.Map(meaningless, value), Query: []Pair{{value, value}}})
		if failure != nil {
			t.Fatal(failure.Message)
		}
		if strings.ContainsFunc(r.url.RequestURI(), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			t.Fatalf("the request line would have %q", r.url.RequestURI())
		}
		got, err := url.ParseQuery(r.url.RawQuery)
		if err != nil || got.Get("own") != strings.Map(meaningless, value) || value != "own" && got.Get(value) != value {
			t.Fatalf("%q became %q: %v", value, r.url.RawQuery, err)
		}
	})
}

// meaningless takes out what has a meaning in an address.
func meaningless(r rune) rune {
	if r < ' ' || r == 0x7f || strings.ContainsRune("%&;+#", r) {
		return -1
	}
	return r
}

func TestHeadersOfACallAreNotChanged(t *testing.T) {
	t.Parallel()
	s := record(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusTemporaryRedirect)
		}
	})
	c := Call{URL: s.URL, Method: "POST", Header: []Pair{{"x-a", "1"}}, Query: []Pair{{"a", "b"}}, JSON: json.RawMessage(`1`), Key: "k"}
	before := c
	before.Header, before.Query, before.JSON = []Pair{{"x-a", "1"}}, []Pair{{"a", "b"}}, json.RawMessage(`1`)
	call(t, Config{}, c)
	if diff := cmp.Diff(before, c); diff != "" {
		t.Error(diff)
	}
}

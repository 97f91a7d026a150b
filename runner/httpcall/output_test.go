package httpcall

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// R7
func TestABodyBecomesTheOutput(t *testing.T) {
	t.Parallel()
	const asJSON, asText = "application/json", "text/plain"
	tests := map[string]struct {
		kind string
		body string
		want string // the output
		code string // or the failure
		says string
	}{
		"an object keeps its exact text":   {asJSON, "\r\n {\"n\": 1.10, \"big\": 12345678901234567890} \n", `{"n": 1.10, "big": 12345678901234567890}`, "", ""},
		"a number":                         {asJSON, "42", `42`, "", ""},
		"a text":                           {asJSON, `"<a>"`, `"<a>"`, "", ""},
		"with a character set":             {"application/json; charset=utf-8", "[]", `[]`, "", ""},
		"with broken parameters":           {"Application/JSON; charset", "[]", `[]`, "", ""},
		"a kind of JSON":                   {"application/problem+json", "{}", `{}`, "", ""},
		"the old name":                     {"text/json", "{}", `{}`, "", ""},
		"after a byte order mark":          {asJSON, "\uFEFF{}", `{}`, "", ""},
		"nothing":                          {asJSON, "", `null`, "", ""},
		"space only":                       {asJSON, " \n", `null`, "", ""},
		"broken":                           {asJSON, `{"a": `, "", "bad_output", "not JSON, though its Content-Type says so: at byte 5"},
		"two values":                       {asJSON, `{} {}`, "", "bad_output", "at byte 4"},
		"a page":                           {asJSON, `<html>`, "", "bad_output", "at byte 1"},
		"a NUL spelled out":                {asJSON, `{"a":"\\\u0000"}`, "", "unstorable", `(\u0000) at byte 8`},
		"a backslash before u0000":         {asJSON, `{"a":"\\u0000"}`, `{"a":"\\u0000"}`, "", ""},
		"a bad byte in JSON":               {asJSON, "{\"\xff\":1}", "", "unstorable", "not UTF-8 at byte 2"},
		"text":                             {asText, "a\n\n", `"a\n\n"`, "", ""},
		"text that looks like JSON":        {asText, "{}", `"{}"`, "", ""},
		"text with marks":                  {asText, "<a & b>\u2028", `"<a & b>\u2028"`, "", ""},
		"text with u0000 spelled out":      {asText, `a\u0000`, `"a\\u0000"`, "", ""},
		"no text":                          {asText, "", `null`, "", ""},
		"without a type":                   {"", "{}", `"{}"`, "", ""},
		"lines of JSON are text":           {"application/x-ndjson", "{}\n{}\n", `"{}\n{}\n"`, "", ""},
		"a bad byte":                       {asText, "ab\xff", "", "unstorable", "not UTF-8 at byte 2"},
		"a NUL":                            {asText, "a\x00b", "", "unstorable", "NUL character at byte 1"},
		"an image":                         {"image/png", "\x89PNG\r\n", "", "unstorable", "at byte 0"},
		"JSON that is too deep to be read": {asJSON, strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "", "bad_output", "not JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if test.kind != "" {
					w.Header().Set("Content-Type", test.kind)
				}
				_, _ = io.WriteString(w, test.body)
			})
			r := call(t, Config{}, Call{URL: s.URL + "/a?" + canary})
			if r.Status != 200 {
				t.Errorf("status %d", r.Status)
			}
			if test.code == "" {
				wantOutput(t, r, test.want)
				return
			}
			kind := ""
			if test.code == "unstorable" {
				kind = "final"
			}
			wantKind(t, wantFailure(t, r, test.code, "GET "+s.URL+"/a answered 200 OK with a body", test.says), kind)
		})
	}
}

func TestTheFullOutputHasStatusHeadersAndBody(t *testing.T) {
	t.Parallel()
	address := saying(t, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nx-A: 1\r\nX-a: b, c\r\nSet-Cookie: a=1, b\r\nSet-Cookie: c\r\nX-Bad: \xff\r\nContent-Length: 10\r\n\r\n{ \"n\":1.0}")
	r := call(t, Config{}, Call{URL: address, Full: true, Expect: []Statuses{{404, 404}}})
	wantOutput(t, r, `{"status":404,"headers":{"content-length":"10","content-type":"application/json","set-cookie":"a=1, b\nc","x-a":"1, b, c","x-bad":"�"},"body":{ "n":1.0}}`)
}

func TestTheFullOutputOfNothingHasANullBody(t *testing.T) {
	t.Parallel()
	address := saying(t, "HTTP/1.1 204 No Content\r\n\r\n")
	wantOutput(t, call(t, Config{}, Call{URL: address, Full: true}), `{"status":204,"headers":{},"body":null}`)
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func deflated(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// R8
func TestAPackedBodyIsUnpackedWithinTheLimit(t *testing.T) {
	t.Parallel()
	whole := packed(t, "hello")
	wrong := []byte(whole)
	wrong[len(wrong)-8] ^= 1
	tests := map[string]struct {
		encoding string
		body     string
		want     string
		code     string
		kind     string
	}{
		"gzip":                      {"gzip", whole, `"hello"`, "", ""},
		"its old name":              {"X-GZIP", whole, `"hello"`, "", ""},
		"deflate":                   {"deflate", deflated(t, "hello"), `"hello"`, "", ""},
		"identity":                  {"identity", "hello", `"hello"`, "", ""},
		"in two parts":              {"gzip", whole + packed(t, " you"), `"hello you"`, "", ""},
		"nothing at all":            {"gzip", "", `null`, "", ""},
		"nothing, packed":           {"gzip", packed(t, ""), `null`, "", ""},
		"at the limit":              {"gzip", packed(t, strings.Repeat("a", 98)), `"` + strings.Repeat("a", 98) + `"`, "", ""},
		"over the limit":            {"gzip", packed(t, strings.Repeat("a", 101)), "", "too_large", "final"},
		"a bomb":                    {"gzip", packed(t, strings.Repeat("\x00", 10<<20)), "", "too_large", "final"},
		"packed nothing for ever":   {"gzip", strings.Repeat(packed(t, ""), 1000), "", "too_large", "final"},
		"not packed":                {"gzip", "hello, this is text", "", "bad_output", ""},
		"not packed, but announced": {"deflate", "hello", "", "bad_output", ""},
		"damaged":                   {"gzip", string(wrong), "", "bad_output", ""},
		"cut off":                   {"gzip", whole[:len(whole)-4], "", "connect", "passing"},
		"cut off at its beginning":  {"gzip", whole[:4], "", "connect", "passing"},
		"packed twice":              {"gzip, gzip", packed(t, whole), "", "bad_output", ""},
		"packed otherwise":          {"br", "hello", "", "bad_output", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", test.encoding)
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, test.body)
			})
			r := call(t, Config{Limits: Limits{OutputBytes: 100}}, Call{URL: s.URL})
			if test.code == "" {
				wantOutput(t, r, test.want)
				return
			}
			wantKind(t, wantFailure(t, r, test.code), test.kind)
		})
	}
}

// R8
func TestTheLimitIsThatOfTheOutputAsJSON(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, body string
		full       bool
		large      bool
	}{
		"text at the limit":       {"text/plain", strings.Repeat("a", 98), false, false},
		"quotes count":            {"text/plain", strings.Repeat("a", 99), false, true},
		"escapes count":           {"text/plain", strings.Repeat("\n", 60), false, true},
		"JSON at the limit":       {"application/json", "[" + strings.Repeat("1,", 48) + "10]", false, false},
		"JSON over the limit":     {"application/json", "[" + strings.Repeat("1,", 50) + "1]", false, true},
		"status and headers do":   {"text/plain", strings.Repeat("a", 90), true, true},
		"far more than the limit": {"text/plain", strings.Repeat("a", 1<<20), false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				_, _ = io.WriteString(w, test.body)
			})
			r := call(t, Config{Limits: Limits{OutputBytes: 100}}, Call{URL: s.URL, Full: test.full})
			if large := r.Failure != nil && r.Failure.Code == "too_large" && r.Failure.Final; large != test.large {
				t.Errorf("too large: %v, failure %+v", large, r.Failure)
			}
		})
	}
}

func TestAStatusThatIsAFailureTellsWhatItIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 400)
	tests := map[string]struct {
		status int
		kind   string // of its body
		body   string
		call   Call
		code   string
		is     string
		data   string
	}{
		"400":                      {400, "application/json", `{"why": 1.0}`, Call{}, "http_400", "", `{"status":400,"body":{"why": 1.0}}`},
		"404":                      {404, "", "", Call{}, "http_404", "", `{"status":404,"body":null}`},
		"304":                      {304, "", "", Call{}, "http_304", "", `{"status":304,"body":null}`},
		"408":                      {408, "text/plain", "slow", Call{}, "http_408", "passing", `{"status":408,"body":"slow"}`},
		"429":                      {429, "", "", Call{}, "http_429", "passing", `{"status":429,"body":null}`},
		"500":                      {500, "", "", Call{}, "http_500", "passing", `{"status":500,"body":null}`},
		"599":                      {599, "", "", Call{}, "http_599", "passing", `{"status":599,"body":null}`},
		"600":                      {600, "", "", Call{}, "http_600", "", `{"status":600,"body":null}`},
		"a code of the step's own": {402, "", "", Call{Codes: map[int]string{402: "declined"}}, "declined", "", `{"status":402,"body":null}`},
		"such a code is passing":   {503, "", "", Call{Codes: map[int]string{503: "busy"}}, "busy", "passing", `{"status":503,"body":null}`},
		"success with a code":      {202, "text/plain", "later", Call{Codes: map[int]string{202: "unfinished"}}, "unfinished", "", `{"status":202,"body":"later"}`},
		"success not expected":     {200, "", "", Call{Expect: []Statuses{{201, 201}, {204, 299}}}, "http_200", "", `{"status":200,"body":null}`},
		"nothing expected":         {200, "", "", Call{Expect: []Statuses{}}, "http_200", "", `{"status":200,"body":null}`},
		"a long text":              {400, "text/plain", long, Call{}, "http_400", "", `{"status":400,"body":"` + strings.Repeat("ä", 248) + `..."}`},
		"broken JSON":              {400, "application/json", `{"a`, Call{}, "http_400", "", `{"status":400,"body":"{\"a"}`},
		"JSON with a NUL":          {400, "application/json", `"\u0000"`, Call{}, "http_400", "", `{"status":400,"body":"\"\\u0000\""}`},
		"long JSON":                {400, "application/json", `[` + strings.Repeat("1,", 1000) + `1]`, Call{}, "http_400", "", `{"status":400,"body":[` + strings.Repeat("1,", 1000) + `1]}`},
		"JSON that is too long":    {400, "application/json", `[` + strings.Repeat("1,", 10000) + `1]`, Call{}, "http_400", "", `{"status":400,"body":"[` + strings.Repeat("1,", 248) + `..."}`},
		"bytes":                    {400, "application/json", "\"\xff\x00\"", Call{}, "http_400", "", `{"status":400,"body":"\"��\""}`},
		"a page without end":       {502, "text/html", strings.Repeat("<br>", 1<<20), Call{}, "http_502", "passing", `{"status":502,"body":"` + strings.Repeat("<br>", 124) + `<..."}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			c := test.call
			c.URL = s.URL + "/a?" + canary
			r := call(t, Config{}, c)
			f := wantFailure(t, r, test.code, fmt.Sprintf("GET %s/a answered %d", s.URL, test.status))
			wantKind(t, f, test.is)
			if diff := cmp.Diff(test.data, string(f.Data)); diff != "" {
				t.Error(diff)
			}
			if r.Status != test.status || f.RetryAfter != nil {
				t.Errorf("status %d, retry after %v", r.Status, f.RetryAfter)
			}
		})
	}
}

func TestAnExpectedStatusIsSuccess(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{200: `"a"`, 299: `"a"`, 404: `"a"`, 503: `"a"`, 204: `null`, 304: `null`} {
		s := record(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "a")
		})
		c := Call{URL: s.URL, Codes: map[int]string{404: "missing"}}
		if status > 299 {
			c.Expect = []Statuses{{304, 304}, {404, 599}}
		}
		r := call(t, Config{}, c)
		wantOutput(t, r, body)
		if r.Status != status {
			t.Errorf("status %d, want %d", r.Status, status)
		}
	}
}

func TestRetryAfterIsTakenOfWhatIsPassing(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]time.Duration{429: 7 * time.Second, 503: 7 * time.Second, 408: 7 * time.Second, 400: 0, 404: 0} {
		s := record(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		})
		f := wantFailure(t, call(t, Config{}, Call{URL: s.URL}), fmt.Sprintf("http_%d", status))
		if got := f.RetryAfter; want == 0 && got != nil || want > 0 && (got == nil || *got != want) {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		text, date string
		want       time.Duration // 0: none
	}{
		"seconds":                     {" 120 ", "", 2 * time.Minute},
		"no seconds":                  {"0", "", 0},
		"negative":                    {"-1", "", 0},
		"signed":                      {"+1", "", 0},
		"a fraction":                  {"1.5", "", 0},
		"words":                       {"soon", "", 0},
		"nothing":                     {"", "", 0},
		"a day":                       {"86400", "", 24 * time.Hour},
		"more than a day":             {"86401", "", 24 * time.Hour},
		"far too many":                {strings.Repeat("9", 400), "", 24 * time.Hour},
		"a date":                      {"Fri, 02 Jan 2026 03:05:05 GMT", "", time.Minute},
		"a date in an old form":       {"Friday, 02-Jan-26 03:05:05 GMT", "", time.Minute},
		"a date in the C form":        {"Fri Jan  2 03:05:05 2026", "", time.Minute},
		"a date of the server's time": {"Fri, 02 Jan 2026 05:00:30 GMT", "Fri, 02 Jan 2026 05:00:00 GMT", 30 * time.Second},
		"beside a broken date":        {"Fri, 02 Jan 2026 03:05:05 GMT", "today", time.Minute},
		"a date that has passed":      {"Fri, 02 Jan 2026 03:04:05 GMT", "", 0},
		"a date far away":             {"Fri, 02 Jan 2099 03:04:05 GMT", "", 24 * time.Hour},
		"a date beyond all counting":  {"Fri, 02 Jan 9999 03:04:05 GMT", "Fri, 02 Jan 1000 03:04:05 GMT", 24 * time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Retry-After": {test.text}}
			if test.date != "" {
				header.Set("Date", test.date)
			}
			got := retryAfter(header, now)
			if test.want == 0 && got != nil || test.want > 0 && (got == nil || *got != test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestNothingIsSentWhenTheContextHasEnded(t *testing.T) {
	t.Parallel()
	s := record(t, nothing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := caller(t, Config{}).Do(ctx, Call{URL: s.URL})
	wantSound(t, r)
	wantKind(t, wantFailure(t, r, "connect", "told to stop"), "passing")
	if !r.Stopped || len(s.requests()) > 0 {
		t.Errorf("stopped %v, %d requests", r.Stopped, len(s.requests()))
	}
}

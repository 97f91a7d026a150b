package httpcall

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// redirecting answers /STATUS with that status and the Location that the query names; everything else is "arrived".
func redirecting(t *testing.T) *recorder {
	t.Helper()
	return record(t, func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			_, _ = w.Write([]byte("arrived"))
			return
		}
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("see there"))
	})
}

func lines(requests []seen) []string {
	out := make([]string, len(requests))
	for i, r := range requests {
		out[i] = strings.TrimSpace(r.Line + " " + r.Body)
	}
	return out
}

func TestARedirectIsFollowedWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	body := json.RawMessage(`1`)
	tests := map[string]struct {
		call Call
		want []string // what the server sees
		says string   // why the last redirect is not followed
	}{
		"301":                         {Call{URL: "/301?to=/b"}, []string{"GET /301?to=/b", "GET /b"}, ""},
		"302":                         {Call{URL: "/302?to=/b"}, []string{"GET /302?to=/b", "GET /b"}, ""},
		"303":                         {Call{URL: "/303?to=/b"}, []string{"GET /303?to=/b", "GET /b"}, ""},
		"307":                         {Call{URL: "/307?to=/b"}, []string{"GET /307?to=/b", "GET /b"}, ""},
		"308":                         {Call{URL: "/308?to=/b"}, []string{"GET /308?to=/b", "GET /b"}, ""},
		"HEAD":                        {Call{URL: "/302?to=/b", Method: "HEAD"}, []string{"HEAD /302?to=/b", "HEAD /b"}, ""},
		"relative":                    {Call{URL: "/302?to=b%3Fx=%25C3%25A4%23part"}, []string{"GET /302?to=b%3Fx=%25C3%25A4%23part", "GET /b?x=%C3%A4"}, ""},
		"a space where it leads":      {Call{URL: "/302?to=/b%3Fx%20y"}, []string{"GET /302?to=/b%3Fx%20y", "GET /b?x%20y"}, ""},
		"POST with 307":               {Call{URL: "/307?to=/b", JSON: body}, []string{"POST /307?to=/b 1", "POST /b 1"}, ""},
		"DELETE with 308":             {Call{URL: "/308?to=/b", Method: "DELETE"}, []string{"DELETE /308?to=/b", "DELETE /b"}, ""},
		"POST with 301":               {Call{URL: "/301?to=/b", JSON: body}, []string{"POST /301?to=/b 1"}, "a redirect of POST is followed only with 307 or 308"},
		"POST with 302":               {Call{URL: "/302?to=/b", JSON: body}, []string{"POST /302?to=/b 1"}, "a redirect of POST is followed only"},
		"POST with 303":               {Call{URL: "/303?to=/b", JSON: body}, []string{"POST /303?to=/b 1"}, "or add 303 to expect"},
		"300 is none":                 {Call{URL: "/300?to=/b"}, []string{"GET /300?to=/b"}, "answered 300 Multiple Choices"},
		"305 is none":                 {Call{URL: "/305?to=/b"}, []string{"GET /305?to=/b"}, "answered 305 Use Proxy"},
		"leading nowhere":             {Call{URL: "/302"}, []string{"GET /302"}, "answered 302 Found"},
		"a file":                      {Call{URL: "/302?to=file:///etc/passwd"}, []string{"GET /302?to=file:///etc/passwd"}, "it leads to file:"},
		"a script":                    {Call{URL: "/302?to=javascript:1"}, []string{"GET /302?to=javascript:1"}, "it leads to javascript:"},
		"no address":                  {Call{URL: "/302?to=http://%255B"}, []string{"GET /302?to=http://%255B"}, "cannot be read"},
		"no host":                     {Call{URL: "/302?to=http:///b"}, []string{"GET /302?to=http:///b"}, "it leads to no host"},
		"a password":                  {Call{URL: "/302?to=http://a:" + canary + "@b.test/"}, []string{"GET /302?to=http://a:" + canary + "@b.test/"}, "user or password"},
		"in a circle of one":          {Call{URL: "/302?to="}, []string{"GET /302?to="}, "answered 302 Found"},
		"in a circle of one, by path": {Call{URL: "/302?to=%3Fto=%2523"}, nil, "go in a circle"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redirecting(t)
			c := test.call
			c.URL = s.URL + c.URL
			r := call(t, Config{}, c)
			if test.want != nil {
				if diff := cmp.Diff(test.want, lines(s.requests())); diff != "" {
					t.Error(diff)
				}
			}
			if test.says == "" {
				if c.Method == "HEAD" {
					wantOutput(t, r, `null`)
				} else {
					wantOutput(t, r, `"arrived"`)
				}
				return
			}
			f := wantFailure(t, r, "http_"+strconv.Itoa(r.Status), test.says)
			wantKind(t, f, "")
			if strings.Contains(string(r.Log), "see there") == strings.Contains(f.Message, "not followed") {
				t.Errorf("log %s", r.Log)
			}
		})
	}
}

func TestARedirectThatIsExpectedIsTheAnswer(t *testing.T) {
	t.Parallel()
	s := redirecting(t)
	r := call(t, Config{}, Call{URL: s.URL + "/303?to=/b", Method: "POST", Expect: []Statuses{{303, 303}}, Full: true})
	if r.Failure != nil || !strings.Contains(string(r.Output), `"location":"/b"`) || r.Status != 303 {
		t.Errorf("%d %s %+v", r.Status, r.Output, r.Failure)
	}
}

func TestARedirectThatIsNotFollowedHasTheStepsCode(t *testing.T) {
	t.Parallel()
	s := redirecting(t)
	r := call(t, Config{}, Call{URL: s.URL + "/303?to=/b", Method: "POST", Codes: map[int]string{303: "moved"}})
	wantFailure(t, r, "moved", "answered 303 See Other: not followed: ")
}

func TestRedirectsInACircleEndAtOnce(t *testing.T) {
	t.Parallel()
	s := record(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"/a": "/b", "/b": "/c", "/c": "/a"}[r.URL.Path]
		http.Redirect(w, r, next, http.StatusMovedPermanently)
	})
	r := call(t, Config{}, Call{URL: s.URL + "/a"})
	wantFailure(t, r, "http_301", "GET "+s.URL+"/c answered 301 Moved Permanently: not followed: the redirects go in a circle: it leads to "+s.URL+"/a again")
	if n := len(s.requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 10, 3: 3, -1: 0} {
		s := record(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
		r := call(t, Config{Limits: Limits{Redirects: limit}}, Call{URL: s.URL + "/"})
		wantFailure(t, r, "http_302", "more than "+strconv.Itoa(want)+" redirects")
		if n := len(s.requests()); n != want+1 {
			t.Errorf("limit %d: %d requests", limit, n)
		}
	}
}

// O5
func TestAnotherHostIsToldNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	last := record(t, nothing)
	other := record(t, nil)
	first := record(t, func(w http.ResponseWriter, r *http.Request) {
		to := other.URL + "/away"
		if r.URL.Path == "/back" {
			to = last.URL
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	other.Config.Handler = other.handler(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, first.URL+"/back", http.StatusTemporaryRedirect)
	})
	header := []Pair{{"Authorization", canary}, {"Cookie", canary}, {"X-Api-Key", canary}, {"Accept", "text/plain"}, {"Host", "own.test"}}
	r := call(t, Config{}, Call{URL: first.URL + "/a", Method: "POST", Body: "b", Header: header, Key: "k", Traceparent: "t"})
	wantOutput(t, r, `null`)

	told := first.requests()[0].Header
	if told.Get("Authorization") != canary || told.Get("X-Api-Key") != canary || told.Get("Host") != "own.test" {
		t.Errorf("the host that was called was told %v", told)
	}
	want := http.Header{
		"Accept": {"text/plain"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"1"},
		"Idempotency-Key": {"k"}, "Traceparent": {"t"}, "User-Agent": {"millrace"},
	}
	for name, at := range map[string]*recorder{"another": other, "the first, from another": first, "a third": last} {
		requests := at.requests()
		got := requests[len(requests)-1].Header
		got.Del("Host")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s host was told more or less:\n%s", name, diff)
		}
	}
}

func TestTheSameHostIsToldAgain(t *testing.T) {
	t.Parallel()
	s := redirecting(t)
	call(t, Config{}, Call{URL: s.URL + "/302?to=/b", Header: []Pair{{"Authorization", canary}, {"Host", "own.test"}}})
	told := s.requests()[1].Header
	if told.Get("Authorization") != canary || told.Get("Host") != "own.test" {
		t.Errorf("told %v", told)
	}
}

func TestHostsAreTheSameByNameAndPort(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to string
		want     bool
	}{
		"same":                 {"http://a.test/x", "http://a.test/y", true},
		"port said":            {"https://a.test/", "https://a.test:443/", true},
		"from http to https":   {"http://a.test/", "https://a.test/", true},
		"to https, ports said": {"http://a.test:80/", "https://a.test:443/", true},
		"another port":         {"http://a.test/", "http://a.test:81/", false},
		"to https elsewhere":   {"http://a.test/", "https://a.test:8443/", false},
		"https from elsewhere": {"http://a.test:8080/", "https://a.test/", false},
		"another name":         {"https://a.test/", "https://b.test/", false},
		"a name below":         {"https://a.test/", "https://b.a.test/", false},
		"a name that begins":   {"https://a.test/", "https://a.test.evil.test/", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, failure := readURL(test.from)
			to, other := readURL(test.to)
			if failure != nil || other != nil {
				t.Fatal(failure, other)
			}
			if got := sameHost(from, to); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

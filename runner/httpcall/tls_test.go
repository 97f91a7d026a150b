package httpcall

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority vouches for the servers of a test.
type authority struct {
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	roots *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert: cert, key: key, roots: x509.NewCertPool()}
	a.roots.AddCert(cert)
	return a
}

// vouches gives a certificate for 127.0.0.1, or another name, as change leaves it.
func (a *authority) vouches(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// secure is a server with TLS; change may change it before it starts.
func secure(t *testing.T, cert tls.Certificate, handle http.HandlerFunc, change func(*httptest.Server)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = quiet
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func protocol(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }

func TestAServerMustBeTrusted(t *testing.T) {
	t.Parallel()
	good, other := newAuthority(t), newAuthority(t)
	tests := map[string]struct {
		cert tls.Certificate
		says string
	}{
		"another authority": {other.vouches(t, nil), "unknown authority"},
		"expired":           {good.vouches(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "expired"},
		"not yet":           {good.vouches(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }), "not yet valid"},
		"another name":      {good.vouches(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.test"} }), "127.0.0.1"},
		"for a client":      {good.vouches(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "usage"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := secure(t, test.cert, protocol, nil)
			r := call(t, Config{Roots: good.roots}, Call{URL: address + "/a?" + canary})
			f := wantFailure(t, r, "connect", "GET "+address+"/a: the server's certificate is not to be trusted: ", test.says)
			wantKind(t, f, "permanent")
		})
	}
}

func TestTheSystemsAuthoritiesVouchByDefault(t *testing.T) {
	t.Parallel()
	address := secure(t, newAuthority(t).vouches(t, nil), protocol, nil)
	wantFailure(t, call(t, Config{}, Call{URL: address}), "connect", "not to be trusted")
}

func TestTLSBelowVersion12IsNotSpoken(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address := secure(t, a.vouches(t, nil), protocol, func(s *httptest.Server) {
		s.TLS.MinVersion, s.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	})
	wantFailure(t, call(t, Config{Roots: a.roots}, Call{URL: address}), "connect", "protocol version")
}

func TestPlainHTTPWhereTLSWasMeantIsNamed(t *testing.T) {
	t.Parallel()
	s := record(t, nothing)
	address := strings.Replace(s.URL, "http:", "https:", 1)
	f := wantFailure(t, call(t, Config{}, Call{URL: address}), "connect", "does not speak TLS there: is it an http:// address?")
	wantKind(t, f, "permanent")
}

func TestHTTP2IsSpokenWhereTheServerDoes(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for want, http2 := range map[string]bool{`"HTTP/1.1"`: false, `"HTTP/2.0"`: true} {
		address := secure(t, a.vouches(t, nil), protocol, func(s *httptest.Server) { s.EnableHTTP2 = http2 })
		made := caller(t, Config{Roots: a.roots})
		for range 3 {
			wantOutput(t, do(t, made, Call{URL: address}), want)
		}
	}
}

func headersOf(n int, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range n {
			w.Header().Set("X-"+strings.Repeat("a", i+1), value)
		}
	}
}

func TestHTTP2IsBoundedAlike(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	block, empty := strings.Repeat("a", 1000), packed(t, "")
	tests := map[string]struct {
		handle http.HandlerFunc
		code   string
		kind   string
	}{
		"body without end": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}, "too_large", "final"},
		"many headers":     {headersOf(66, block), "too_large", "final"},
		"far more headers": {headersOf(100, block), "connect", "passing"},
		"less than it said": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50")
			_, _ = io.WriteString(w, "hello")
			panic(http.ErrAbortHandler)
		}, "connect", "passing"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connect", "passing"},
		"a failure": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "http_502", "passing"},
		"packed for ever": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			for {
				if _, err := io.WriteString(w, empty); err != nil {
					return
				}
			}
		}, "too_large", "final"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := secure(t, a.vouches(t, nil), test.handle, func(s *httptest.Server) { s.EnableHTTP2 = true })
			r := call(t, Config{Roots: a.roots, Limits: Limits{OutputBytes: 50 << 10}}, Call{URL: address, Method: "POST", Key: "k"})
			wantKind(t, wantFailure(t, r, test.code), test.kind)
		})
	}
}

func TestACertificateIsShownToAServerThatAsks(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address := secure(t, a.vouches(t, nil), protocol, func(s *httptest.Server) {
		s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, a.roots
	})
	wantFailure(t, call(t, Config{Roots: a.roots}, Call{URL: address}), "connect")
	own := []tls.Certificate{a.vouches(t, nil)}
	wantOutput(t, call(t, Config{Roots: a.roots, Certificates: own}, Call{URL: address}), `"HTTP/1.1"`)
}

// O5
func TestARedirectFromTLSToPlainTextIsNotFollowed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	plain := record(t, nothing)
	address := secure(t, a.vouches(t, nil), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/b?"+canary, http.StatusFound)
	}, nil)
	r := call(t, Config{Roots: a.roots}, Call{URL: address})
	wantFailure(t, r, "http_302", "not followed: it leads from https to http: "+plain.URL+"/b")
	if n := len(plain.requests()); n > 0 {
		t.Errorf("%d requests came in plain text", n)
	}
}

func TestARedirectFromPlainTextToTLSIsFollowed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	address := secure(t, a.vouches(t, nil), protocol, nil)
	plain := record(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) })
	wantOutput(t, call(t, Config{Roots: a.roots}, Call{URL: plain.URL}), `"HTTP/1.1"`)
}

func TestKeptConnectionsWithTLSKeepAnswersApart(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert := a.vouches(t, nil)
	address := bytesServer(t, func(s *session) {
		conn := tls.Server(s.Conn, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
		inside := &session{Conn: conn, reader: newReader(conn)}
		for inside.hears() && inside.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright"+"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong") {
		}
	})
	address = strings.Replace(address, "http:", "https:", 1)
	made := caller(t, Config{Roots: a.roots})
	var calling sync.WaitGroup
	for range 4 {
		calling.Go(func() {
			for range 25 {
				if r := do(t, made, Call{URL: address}); string(r.Output) != `"right"` {
					t.Errorf("%s %+v", r.Output, r.Failure)
				}
			}
		})
	}
	calling.Wait()
}

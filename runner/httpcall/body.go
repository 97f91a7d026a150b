package httpcall

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// body is what came of the body of an answer, unpacked.
type body struct {
	bytes []byte
	err   error // nil: it came whole; errTooLarge, errPacking, or what the connection said
}

var (
	errTooLarge = errors.New("it is too large")
	errPacking  = errors.New("it cannot be unpacked")
)

// readBody reads a body of at most limit bytes, unpacked. It stops as soon as there are more.
func readBody(resp *http.Response, limit int) body {
	if !hasBody(resp) {
		return body{}
	}
	// A packed body that is larger than what may come out of it, or goes on and on without giving anything, is no use either.
	raw := &bounded{r: resp.Body, left: 2*int64(limit) + 4096}
	unpacked, err := unpack(raw, resp.Header.Values("Content-Encoding"))
	if err != nil {
		return body{err: raw.blame(err)}
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, int64(limit)+1))
	if len(text) > limit {
		return body{bytes: text[:limit], err: errTooLarge}
	}
	if err == nil && unpacked != io.Reader(raw) {
		_, err = io.Copy(io.Discard, raw) // to the end, so that the connection can be kept
	}
	return body{bytes: text, err: raw.blame(err)}
}

// hasBody says whether the answer can have a body. That of an answer which takes the connection over would never end.
func hasBody(resp *http.Response) bool {
	return resp.StatusCode >= 200 && resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified && resp.Request.Method != http.MethodHead
}

// unpack gives the reader of what was packed as the header Content-Encoding says.
func unpack(packed io.Reader, encodings []string) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ",")))
	switch encoding {
	case "", "identity":
		return packed, nil
	case "gzip", "x-gzip", "deflate":
	default:
		return nil, fmt.Errorf("%w: its encoding %q is not one that was asked for", errPacking, plain.Cut(encoding, 50))
	}
	// Nothing at all is no packed body, but what some servers send when they have nothing to say.
	buffered := bufio.NewReader(packed)
	if _, err := buffered.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			return strings.NewReader(""), nil
		}
		return nil, err
	}
	var unpacked io.Reader
	var err error
	if encoding == "deflate" {
		unpacked, err = zlib.NewReader(buffered)
	} else {
		unpacked, err = gzip.NewReader(buffered)
	}
	return unpacked, err
}

// bounded is a reader that fails when more than left bytes come, and remembers how it ended.
type bounded struct {
	r    io.Reader
	left int64
	err  error
}

// Read reads.
func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		n, err = n+int(b.left), errTooLarge
	}
	b.err = err
	return n, err
}

// blame says what err, which came of reading b or of unpacking what it gave, is really about.
func (b *bounded) blame(err error) error {
	switch {
	case err == nil || errors.Is(err, errPacking):
		return err
	case b.err != nil && !errors.Is(b.err, io.EOF):
		return b.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return err
	default:
		return fmt.Errorf("%w: %w", errPacking, err)
	}
}

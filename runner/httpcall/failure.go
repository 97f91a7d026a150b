package httpcall

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// Failure is why an attempt failed.
type Failure struct {
	// Code is http_N or what Call.Codes says instead; connect when no answer came, or not the whole of one, or there was
	// nothing that could be sent; bad_output, too_large, unstorable when the answer cannot be the output.
	Code string
	// Message is for people: at most 4 KiB of valid UTF-8 without NUL. It names method, scheme, host and path, and neither
	// query, header nor body.
	Message string
	// Data is {"status": N, "body": ...} of an answer that is a failure: the body as it is if it is JSON of at most 16 KiB,
	// else the first 500 bytes as text, null for none and for a redirect that is not followed. nil when no answer is the
	// failure.
	Data json.RawMessage
	// Passing: plainly passing, retried by the default policy: connect, 408, 429 and 5xx.
	Passing bool
	// Permanent: trying again is no use: the call is wrong, or the server cannot be trusted.
	Permanent bool
	// Final: never retried and never caught: the answer is too large or cannot be stored.
	Final bool
	// RetryAfter is how long the server asks to wait: more than nothing, at most 24 hours; nil: it does not say.
	RetryAfter *time.Duration
}

// The codes of failures, beside http_N.
const (
	codeConnect    = "connect"
	codeBadOutput  = "bad_output"
	codeTooLarge   = "too_large"
	codeUnstorable = "unstorable"
)

// code gives the code of a status that is a failure.
func (x *exchange) code(status int) string {
	if code := x.call.Codes[status]; code != "" {
		return code
	}
	return "http_" + strconv.Itoa(status)
}

// passing says whether a status is plainly passing.
func passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 && status <= 599
}

// refuse is the failure of a call that cannot be sent.
func refuse(format string, args ...any) *Failure {
	return &Failure{Code: codeConnect, Message: plain.Message("the request cannot be sent: " + fmt.Sprintf(format, args...)), Permanent: true}
}

// stopped is the failure of an exchange whose context ended first.
func stopped(r *request) *Failure {
	return &Failure{Code: codeConnect, Message: plain.Message(r.String() + " was told to stop before it was answered"), Passing: true}
}

func tooLarge(r *request, limit int) *Failure {
	return &Failure{Code: codeTooLarge, Final: true, Message: plain.Message(fmt.Sprintf(
		"%s gives more than %d bytes: ask for less, page by page, or let a command fetch it into a file", r, limit))}
}

// unread is the failure of an answer whose body could not be read.
func unread(r *request, resp *http.Response, err error, limit int) *Failure {
	answered := fmt.Sprintf("%s answered %s, but ", r, statusText(resp.StatusCode))
	switch {
	case errors.Is(err, errTooLarge):
		return tooLarge(r, limit)
	case errors.Is(err, errPacking):
		return &Failure{Code: codeBadOutput, Message: plain.Message(answered + "its body is of no use: " + plain.Cut(err.Error(), causeBytes))}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Failure{Code: codeConnect, Message: plain.Message(answered + "the body ends before it should"), Passing: true}
	default:
		reason, _ := reasonOf(err)
		return &Failure{Code: codeConnect, Message: plain.Message(answered + "not the whole of its body came: " + reason), Passing: true}
	}
}

// explain is the failure of a request to which no answer came.
func explain(r *request, err error) *Failure {
	if strings.Contains(err.Error(), "response headers exceeded") || strings.Contains(err.Error(), "header list larger than") {
		return &Failure{Code: codeTooLarge, Final: true, Message: plain.Message(r.String() + " was answered with more headers than are taken")}
	}
	reason, permanent := reasonOf(err)
	return &Failure{Code: codeConnect, Message: plain.Message(r.String() + ": " + reason), Passing: !permanent, Permanent: permanent}
}

const causeBytes = 200 // of the words of an error that is not known here

// reasonOf says for people why an exchange broke off, and whether it always will. It never shows what was sent or came.
func reasonOf(err error) (reason string, permanent bool) {
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not to be trusted: " + plain.Cut(plain.Clean(untrusted.Err.Error()), causeBytes), true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS there: is it an http:// address?", true
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("host %s cannot be found: %s", plain.Cut(plain.Clean(name.Name), causeBytes), plain.Cut(plain.Clean(name.Err), causeBytes)), false
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "the connection timed out", false
	}
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: does the server run, and listen there?", false
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset", false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(text, "server closed idle connection"), errors.Is(err, net.ErrClosed):
		return "the server closed the connection before it had answered", false
	case strings.Contains(text, "malformed"), strings.Contains(text, "invalid header"), strings.Contains(text, "bad Content-Length"):
		return "the server did not answer in HTTP", false
	default:
		return plain.Cut(plain.Clean(text), causeBytes), false
	}
}

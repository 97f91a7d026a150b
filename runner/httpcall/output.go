package httpcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/runner/internal/plain"
)

// output makes the output of an answer that was expected.
func (x *exchange) output(r *request, resp *http.Response) (json.RawMessage, *Failure) {
	limit := x.caller.limits.OutputBytes
	text := readBody(resp, limit)
	if text.err != nil {
		return nil, unread(r, resp, text.err, limit)
	}
	value, failure := parse(r, resp, text.bytes)
	if failure != nil {
		return nil, failure
	}
	if x.call.Full {
		value = fmt.Appendf(nil, `{"status":%d,"headers":%s,"body":%s}`, resp.StatusCode, plain.Encode(headers(resp.Header)), value)
	}
	if len(value) > limit {
		return nil, tooLarge(r, limit)
	}
	return value, nil
}

// parse makes JSON of a body: the value itself when the answer says that it is JSON, else its text; null for none.
func parse(r *request, resp *http.Response, text []byte) (json.RawMessage, *Failure) {
	value, asJSON := text, isJSON(resp.Header.Get("Content-Type"))
	if asJSON {
		value = bytes.Trim(bytes.TrimPrefix(text, []byte("\uFEFF")), " \t\r\n")
	}
	if len(value) == 0 {
		return json.RawMessage("null"), nil
	}
	if asJSON && !json.Valid(value) {
		return nil, &Failure{Code: codeBadOutput, Message: plain.Message(fmt.Sprintf("%s answered %s with a body that is not JSON, though its Content-Type says so: %v",
			r, statusText(resp.StatusCode), whyNotJSON(value)))}
	}
	if reason, at := plain.Unstorable(value, asJSON); at >= 0 {
		return nil, &Failure{Code: codeUnstorable, Final: true, Message: plain.Message(fmt.Sprintf(
			"%s answered %s with a body that has %s at byte %d, which cannot be stored: ask for text or JSON, or let a command fetch it into a file",
			r, statusText(resp.StatusCode), reason, at))}
	}
	if asJSON {
		return value, nil
	}
	return plain.Encode(string(value)), nil
}

// isJSON says whether a Content-Type is that of one JSON value.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
		kind = strings.TrimSpace(kind)
	}
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// whyNotJSON says where text stops being JSON.
func whyNotJSON(text []byte) error {
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// headers gives the headers of an answer by their names in small letters. Several values of one name are joined by commas,
// which means the same (RFC 9110, 5.3); those of Set-Cookie, which may hold commas, by line ends.
func headers(header http.Header) map[string]string {
	out := make(map[string]string, len(header))
	for name, values := range header {
		name = strings.ToLower(name)
		separator := ", "
		if name == "set-cookie" {
			separator = "\n"
		}
		out[plain.Clean(name)] = plain.Clean(strings.Join(values, separator))
	}
	return out
}

const (
	dataBytes    = 16 << 10 // of a JSON body in Failure.Data
	excerptBytes = 500      // of another body there, and of any in the log
)

// errorData gives what a failure tells of its answer, and the beginning of its body for the log.
func errorData(resp *http.Response, b body) (data json.RawMessage, excerpt string) {
	excerpt = strings.TrimSpace(plain.Cut(plain.Clean(string(b.bytes[:min(len(b.bytes), excerptBytes+utf8.UTFMax)])), excerptBytes))
	value := plain.Encode(excerpt)
	trimmed := bytes.TrimSpace(b.bytes)
	whole := b.err == nil && len(trimmed) <= dataBytes && json.Valid(trimmed)
	if _, at := plain.Unstorable(trimmed, true); whole && at < 0 && isJSON(resp.Header.Get("Content-Type")) {
		value = trimmed
	}
	if excerpt == "" {
		value = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"status":%d,"body":%s}`, resp.StatusCode, value), excerpt
}

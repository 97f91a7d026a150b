package httpcall

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const longestWait = 24 * time.Hour

// retryAfter reads the header Retry-After (RFC 9110, 10.2.3): seconds, or a date, which counts from the server's own Date,
// because clocks differ, or else from now. A time that has passed is none; one beyond longestWait is that.
func retryAfter(header http.Header, now time.Time) *time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	wait := longestWait
	if isDigits(text) {
		if seconds, err := strconv.ParseInt(text, 10, 32); err == nil { // more than that is more than longestWait
			wait = time.Duration(seconds) * time.Second
		}
	} else {
		until, err := http.ParseTime(text)
		if err != nil {
			return nil
		}
		if date, err := http.ParseTime(header.Get("Date")); err == nil {
			now = date
		}
		wait = until.Sub(now)
	}
	if wait <= 0 {
		return nil
	}
	wait = min(wait, longestWait)
	return &wait
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

package request_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/engine/internal/request"
)

func TestTraceparentIsSoundWhateverTheRunIsCalled(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)
	seen := map[string]bool{}
	for _, run := range []string{"01a229a3-0c6c-7ad5-879b-7a63bf790f2c", "01A229A3-0C6C-7AD5-879B-7A63BF790F2D", "", "run 1", strings.Repeat("0", 32)} {
		for _, path := range []string{"a", "b[1]/c"} {
			for attempt := range 2 {
				got := request.Traceparent(run, path, attempt+1)
				if !form.MatchString(got) || seen[got] || strings.Contains(got, strings.Repeat("0", 16)) {
					t.Errorf("%q %q %d gave %s", run, path, attempt+1, got)
				}
				seen[got] = true
			}
		}
	}
}

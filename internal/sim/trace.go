package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// trace is what happened, line by line: a hash of all, and the end of it in words.
type trace struct {
	all   hash.Hash
	lines []string
	next  int
}

const kept = 400 // lines in words

func newTrace() *trace { return &trace{all: sha256.New(), lines: make([]string, kept)} }

func (t *trace) add(line string) {
	_, _ = fmt.Fprintln(t.all, line) // a hash never fails
	t.lines[t.next%kept] = line
	t.next++
}

func (t *trace) tail() string {
	var b strings.Builder
	for i := max(0, t.next-kept); i < t.next; i++ {
		b.WriteString(t.lines[i%kept])
		b.WriteByte('\n')
	}
	return b.String()
}

func (t *trace) sum() string { return hex.EncodeToString(t.all.Sum(nil)) }

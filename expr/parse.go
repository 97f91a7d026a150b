package expr

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

const (
	// maxSource is how many bytes a program may have. The library's parser recurses once or twice per bracket or sign, so
	// this also bounds its stack.
	maxSource = 16 << 10
	// maxNodes is how many parts a program may have. The tree that the library gives may share parts (a < b < c), so it
	// is counted as it is walked.
	maxNodes = 10_000
	// maxDepth is how deep a program may be nested.
	maxDepth = eval.DefaultDepth
)

// parse reads the text of a program with the library's parser.
func parse(text string) (n ast.Node, err error) {
	if len(text) > maxSource {
		return nil, eval.FailAt(0, "the expression has more than %d bytes", maxSource)
	}
	if !utf8.ValidString(text) {
		return nil, eval.FailAt(0, "the expression is not UTF-8")
	}
	if strings.TrimSpace(text) == "" {
		return nil, eval.FailAt(0, "the expression is empty").Instead("write a value or a name")
	}
	if at := strings.Index(text, "${"); at >= 0 && strings.TrimSpace(text[:at]) == "" {
		return nil, eval.FailAt(at, "${ } is for texts; this place always holds an expression").Instead("leave out ${ and }")
	}
	defer func() {
		if recover() != nil {
			n, err = nil, eval.FailAt(0, "the expression cannot be read")
		}
	}()
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, parseFault(text, err)
	}
	return tree.Node, nil
}

// parseFault gives the fault of an error of the library's parser.
func parseFault(text string, err error) *eval.Fault {
	var e *file.Error
	if !errors.As(err, &e) {
		return eval.FailAt(0, "the expression cannot be read")
	}
	at := byteOffset(text, e.From)
	f := eval.FailAt(at, "the expression cannot be read: %s", strings.ToLower(e.Message[:1])+e.Message[1:])
	switch {
	case strings.Contains(e.Message, "maximum allowed nodes"):
		return tooManyParts()
	case strings.Contains(e.Message, "token EOF") || strings.Contains(e.Message, "unexpected end"):
		f.At = len(text)
		f.Reason = "the expression ends too early"
	case strings.Contains(e.Message, `("=")`):
		f.Remedy = "write == to compare"
	case strings.Contains(e.Message, `("#")`):
		f.Remedy = "# stands for the item inside of map(), filter() and the like only"
	case strings.Contains(e.Message, "integer literal"):
		f.Reason = "the whole number leaves the 64 bits"
		f.Remedy = "write it with a fraction or an exponent to make it a double"
	}
	return f
}

func tooManyParts() *eval.Fault {
	return eval.FailAt(0, "the expression has more than %d parts", maxNodes)
}

// byteOffset gives the byte at which the n-th character starts.
func byteOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// byteOffsets gives for each character of s the byte at which it starts; nil when they are the same.
func byteOffsets(s string) []int {
	if utf8.RuneCountInString(s) == len(s) {
		return nil
	}
	offsets := make([]int, 0, len(s)+1)
	for i := range s {
		offsets = append(offsets, i)
	}
	return append(offsets, len(s))
}

package expr

import (
	"strings"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// piece is a part of a text: literal, or an expression.
type piece struct {
	literal string
	at      int    // byte offset of the expression in the text
	source  string // of the expression
	isExpr  bool
	program *Program
}

// split cuts a text into literal pieces and ${ expressions }. $${ stands for a plain ${. A } inside of quotes, comments or
// brackets of the expression does not end it.
func split(s string) ([]piece, error) {
	var pieces []piece
	var literal strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		next := strings.IndexByte(rest, '$')
		switch {
		case next < 0:
			literal.WriteString(rest)
			i = len(s)
		case next > 0:
			literal.WriteString(rest[:next])
			i += next
		case strings.HasPrefix(rest, "$${"):
			literal.WriteString("${")
			i += len("$${")
		case strings.HasPrefix(rest, "${"):
			start := i + len("${")
			end, ok := expressionEnd(s, start)
			if !ok {
				return nil, eval.FailAt(i, "${ has no end").Instead("close it with }, or write $${ for a plain ${")
			}
			if literal.Len() > 0 {
				pieces = append(pieces, piece{literal: literal.String()})
				literal.Reset()
			}
			pieces = append(pieces, piece{at: start, source: s[start:end], isExpr: true})
			i = end + 1
		default:
			literal.WriteByte('$')
			i++
		}
	}
	if literal.Len() > 0 || len(pieces) == 0 {
		pieces = append(pieces, piece{literal: literal.String()})
	}
	return pieces, nil
}

// expressionEnd gives the place of the } that ends the expression which starts at i.
func expressionEnd(s string, i int) (int, bool) {
	for open := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '{', '[', '(':
			open++
		case ']', ')':
			open--
		case '}':
			if open <= 0 {
				return i, true
			}
			open--
		case '"', '\'', '`':
			i = quoteEnd(s, i, c)
		case '/':
			i = commentEnd(s, i)
		}
	}
	return i, false
}

// quoteEnd gives the place of the quote that ends the one at i; the end of the text when there is none.
func quoteEnd(s string, i int, quote byte) int {
	for i++; i < len(s) && s[i] != quote; i++ {
		if s[i] == '\\' && quote != '`' {
			i++
		}
	}
	return i
}

// commentEnd gives the place of the last byte of the comment at i, or i when there is none.
func commentEnd(s string, i int) int {
	end := ""
	switch {
	case strings.HasPrefix(s[i:], "//"):
		end = "\n"
	case strings.HasPrefix(s[i:], "/*"):
		end = "*/"
	default:
		return i
	}
	n := strings.Index(s[i+2:], end)
	if n < 0 {
		return len(s)
	}
	return i + 2 + n + len(end) - 1
}

package document

import (
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// The YAML library places a fault inside { } or [ ] at the beginning of what stands around it, which may be the whole file. The
// following finds the place by looking at each such part by itself.

var (
	// flowStart is a line whose value begins with { or [.
	flowStart = regexp.MustCompile(`^(\s*(?:- +)*(?:[^\s"'{}\[\],#&*][^"'{}\[\],#]*: +|"[^"]*": +)?(?:&[^\s]+ +)?)[{\[]`)
	// textStart is a line after which a block of text follows.
	textStart = regexp.MustCompile(`(?:^|[:-] +)[|>][-+0-9]*\s*(?:#.*)?$`)
)

// flowFault is where a part in { } or [ ] is broken, and why.
type flowFault struct {
	line, column   int
	reason, remedy string
}

const quoteIt = "put the expression into quotes, or write the keys on lines of their own"

// findFlowFault gives the first broken part in { } or [ ], or nil.
func findFlowFault(lines []string) *flowFault {
	all, offset := strings.Join(lines, "\n"), 0
	for i := 0; i < len(lines); i++ {
		line, rest := lines[i], all[min(offset, len(all)):]
		offset += len(line) + 1
		if textStart.MatchString(line) {
			for deep := indentOf(line); i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || indentOf(lines[i+1]) > deep); {
				i++
				offset += len(lines[i]) + 1
			}
			continue
		}
		m := flowStart.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		part := flowPart(rest, len(m[1]))
		if fault := part.fault(); fault != nil {
			fault.line += i
			fault.column = len([]rune(lines[fault.line-1][:min(fault.column, len(lines[fault.line-1]))])) + 1
			return fault
		}
		for range part.rows {
			i++
			offset += len(lines[i]) + 1
		}
	}
	return nil
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// flowText is the text from an opening bracket to the one that closes it.
type flowText struct {
	text   string
	start  int // in its first line
	rows   int // line ends in it
	closed bool
	sign   int // of the first `?` outside quotes; -1: none
	hash   int // of the first comment; -1: none
}

// flowPart cuts out what begins at an offset.
func flowPart(all string, start int) flowText {
	p := flowText{start: start, sign: -1, hash: -1}
	depth, quote, before := 0, byte(0), byte('[')
	for i := start; i < len(all); i++ {
		c := all[i]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		case (c == '"' || c == '\'') && strings.IndexByte("[{,:", before) >= 0:
			quote = c
		case c == '#' && strings.IndexByte(" \n\t", all[i-1]) >= 0:
			if p.hash < 0 {
				p.hash = i
			}
			for i+1 < len(all) && all[i+1] != '\n' {
				i++
			}
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == '?' && p.sign < 0:
			p.sign = i
		}
		if c > ' ' {
			before = c
		}
		if depth == 0 {
			p.text, p.closed = all[start:i+1], true
			p.rows = strings.Count(p.text, "\n")
			return p
		}
	}
	p.text = all[start:]
	return p
}

// fault says what is wrong with a part, with places counted from its first line.
func (p flowText) fault() *flowFault {
	at, reason, remedy := p.start, "", ""
	switch {
	case !p.closed && p.hash >= 0 && !strings.Contains(p.text[:p.hash-p.start], "\n"):
		at, reason, remedy = p.hash, "a # behind a space begins a comment, so that the { or [ before it is never closed", quoteIt
	case !p.closed:
		reason, remedy = "this { or [ is never closed", "close it, or put the text into quotes"
	case parses(p.text):
		return nil
	case p.sign >= 0:
		at, reason, remedy = p.sign, "inside { } and [ ] a text with a question mark must be in quotes", quoteIt
	default:
		reason, remedy = "what stands in these { } or [ ] cannot be read", "put texts with brackets, quotes or `: ` into quotes, or write the keys on lines of their own"
	}
	before := (strings.Repeat(" ", p.start) + p.text)[:at]
	row := strings.Count(before, "\n")
	return &flowFault{line: row + 1, column: at - strings.LastIndexByte(before, '\n') - 1, reason: reason, remedy: remedy}
}

// parses says whether the library can read a part by itself; names of anchors outside do not count.
func parses(text string) bool {
	_, err := decodeNext(yaml.NewDecoder(strings.NewReader(text)))
	return err == nil || strings.Contains(err.Error(), "unknown anchor")
}

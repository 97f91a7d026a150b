package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// runeWidth is how many columns a terminal gives to r. Wide are the blocks of East Asian Wide and Fullwidth characters and of
// emoji (Unicode UAX 11, in coarse ranges).
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Width is how many columns s takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// Cut gives s in at most width columns, with an ellipsis where something was left out.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Wrap breaks s between words into lines of at most width columns; a word that is wider stands by itself.
func Wrap(s string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	if line != "" || out == nil {
		out = append(out, line)
	}
	return out
}

func pad(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

func padLeft(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

// Clean gives text of programs as one harmless line: escape sequences and control characters are gone, white space is single
// spaces.
func Clean(s string) string {
	line := harmless(s, func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		return shown(r)
	})
	return strings.Join(strings.Fields(line), " ")
}

// Plain is Clean for text whose spaces matter: tabs and leading spaces stay.
func Plain(s string) string {
	return harmless(s, func(r rune) rune {
		if r == '\t' {
			return r
		}
		return shown(r)
	})
}

// shown drops what controls a terminal or turns the direction of text.
func shown(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}

// harmless gives s without escape sequences, and of its characters what keep makes of each: none of one that is negative.
func harmless(s string, keep func(rune) rune) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += escapeLength(s[i:])
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r = keep(r); r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escapeLength is the length of the escape sequence (ECMA-48) that s begins with.
func escapeLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '_', '^':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 || s[i] == '\\' {
				return i + 1
			}
		}
		return len(s)
	default:
		return 2
	}
}

// Plural counts things: "1 step", "2 steps".
func Plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Span gives a duration in at most seven columns: 0.4s, 12.3s, 4m05s, 3h07m, 2d04h.
func Span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

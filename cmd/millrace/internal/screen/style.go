package screen

import (
	"strings"
	"time"
)

// Style is what a terminal can show.
type Style struct {
	Color bool // sixteen colours and bold
	ASCII bool // nothing outside ASCII
}

// color is the parameter of an SGR sequence (ECMA-48 8.3.117).
type color string

const (
	plain  color = ""
	bold   color = "1"
	dim    color = "2"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

func (s Style) paint(c color, text string) string {
	if !s.Color || c == plain || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Heading paints the head of a part.
func (s Style) Heading(text string) string { return s.paint(bold, text) }

// mark is the sign in front of a step: one of several signs in turn when it moves.
type mark struct {
	signs string // in Unicode
	ascii string
	color color
	text  color // of the name beside it
}

var (
	blank = mark{" ", " ", plain, dim}
	marks = map[string]mark{
		"pending":      {"○", ".", dim, dim},
		"waiting":      {"◔◑◕●", "w", yellow, plain},
		"ready":        {"○", "o", cyan, plain},
		"running":      {"⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\", cyan, plain},
		"retrying":     {"↻", "r", yellow, plain},
		"succeeded":    {"✓", "+", green, plain},
		"failed":       {"✗", "x", red, plain},
		"caught":       {"✗", "x", yellow, plain},
		"skipped":      {"–", "-", dim, dim},
		"cancelled":    {"■", "#", dim, dim},
		"compensated":  {"↩", "<", yellow, plain},
		"compensating": {"⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\", yellow, plain},
		"stopping":     {"⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\", red, plain},
		"paused":       {"‖", "p", yellow, plain},
		"parked":       {"‖", "p", yellow, plain},
		"dead":         {"✗", "x", red, plain},
		"aborted":      {"■", "#", red, plain},
	}
)

func statusMark(status string) mark {
	if m, ok := marks[status]; ok {
		return m
	}
	return blank
}

// mark gives the sign for the moment now.
func (s Style) mark(m mark, now time.Time) string {
	signs := []rune(m.signs)
	if s.ASCII {
		signs = []rune(m.ascii)
	}
	return string(signs[int(now.UnixMilli()/120)%len(signs)])
}

type glyph struct{ unicode, ascii string }

var (
	dotGlyph   = glyph{"·", "-"}
	moreGlyph  = glyph{"…", "..."}
	fullGlyph  = glyph{"█", "#"}
	emptyGlyph = glyph{"░", "."}
)

func (s Style) glyph(g glyph) string {
	if s.ASCII {
		return g.ascii
	}
	return g.unicode
}

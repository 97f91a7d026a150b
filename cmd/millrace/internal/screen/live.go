package screen

import (
	"io"
	"strconv"
	"strings"
)

// Live draws frames over each other on a terminal. It is not safe for concurrent use. Close it before anything else is
// written there.
type Live struct {
	out   io.Writer
	lines []string // of the frame that stands there
}

// NewLive gives a Live that draws on out, a terminal whose cursor stands at the start of a line.
func NewLive(out io.Writer) *Live { return &Live{out: out} }

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	beginFrame = "\x1b[?2026h" // the terminal shows nothing until endFrame; those that do not know it ignore it
	endFrame   = "\x1b[?2026l"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Draw replaces the frame that stands there by lines, which are no wider than the terminal, in one write. Lines that have not
// changed are not written again. Width is the terminal's now: a terminal that became narrower has broken the old lines.
func (l *Live) Draw(lines []string, width int) error {
	rows := 0
	for _, line := range l.lines {
		rows += 1 + (max(visible(line), 1)-1)/max(width, 1)
	}
	broken := rows != len(l.lines)
	var b strings.Builder
	b.WriteString(beginFrame + hideCursor)
	if rows > 0 {
		b.WriteString("\r" + up(rows))
	}
	for i, line := range lines {
		if broken || i >= len(l.lines) || l.lines[i] != line {
			b.WriteString(line + clearRight)
		}
		b.WriteString("\r\n")
	}
	b.WriteString(clearBelow + endFrame) // below may also stand what the terminal echoed, such as ^C
	l.lines = append(l.lines[:0], lines...)
	_, err := io.WriteString(l.out, b.String())
	return err
}

// Close leaves the last frame where it stands and gives the cursor back.
func (l *Live) Close() error {
	_, err := io.WriteString(l.out, "\r"+clearBelow+showCursor)
	l.lines = nil
	return err
}

func up(n int) string { return "\x1b[" + strconv.Itoa(n) + "A" }

// visible is how many columns a line takes without its escape sequences.
func visible(line string) int {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			i += escapeLength(line[i:])
			continue
		}
		b.WriteByte(line[i])
		i++
	}
	return Width(b.String())
}

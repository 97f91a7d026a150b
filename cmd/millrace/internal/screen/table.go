package screen

import (
	"slices"
	"strings"
)

// Table is rows of texts under a head. Columns that are empty throughout are left out.
type Table struct {
	Head []string
	Rows [][]string
	// Mark is the column that holds a status, by which rows are coloured; negative: none.
	Mark int
	// Gives names the column that gives way when there are too few columns; empty: the last one is cut.
	Gives string
	// Drops name columns that are left out, one after the other, when that is not enough.
	Drops []string
}

// leastGiven is how narrow the column that gives way may become; then the last one is cut too.
const leastGiven = 12

// Text gives the table in at most width columns.
func (t Table) Text(width int, s Style) string {
	widths := make([]int, len(t.Head))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(Clean(cell)))
		}
	}
	for i, name := range t.Head {
		if widths[i] > 0 {
			widths[i] = max(widths[i], Width(name))
		}
	}
	t.give(widths, width)
	var b strings.Builder
	b.WriteString(s.paint(dim, tableLine(t.Head, widths, width)) + "\n")
	for _, row := range t.Rows {
		b.WriteString(t.paint(row, tableLine(row, widths, width), s) + "\n")
	}
	return b.String()
}

// give makes columns fit: some are left out when there is no other way, and one is made narrower.
func (t Table) give(widths []int, width int) {
	i := slices.Index(t.Head, t.Gives)
	if i < 0 {
		return
	}
	for _, name := range t.Drops {
		if total(widths)-max(0, widths[i]-leastGiven) <= width {
			break
		}
		widths[slices.Index(t.Head, name)] = 0
	}
	if over := total(widths) - width; over > 0 {
		widths[i] = min(widths[i], max(leastGiven, widths[i]-over))
	}
}

// total is how wide a line is.
func total(widths []int) int {
	n := -2
	for _, w := range widths {
		if w > 0 {
			n += w + 2
		}
	}
	return n
}

func (t Table) paint(row []string, line string, s Style) string {
	if t.Mark < 0 || t.Mark >= len(row) {
		return line
	}
	c := statusMark(row[t.Mark]).color
	before, after, found := strings.Cut(line, row[t.Mark])
	if !found || c == dim {
		return line
	}
	return before + s.paint(c, row[t.Mark]) + after
}

func tableLine(cells []string, widths []int, width int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] > 0 {
			b.WriteString(pad(Cut(Clean(cell), widths[i]), widths[i]) + "  ")
		}
	}
	return Cut(strings.TrimRight(b.String(), " "), width)
}

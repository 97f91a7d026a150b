package screen

import "strings"

// Table is rows of texts under a head. Columns that are empty throughout are left out.
type Table struct {
	Head []string
	Rows [][]string
	// Mark is the column that holds a status, by which rows are coloured; negative: none.
	Mark int
}

// Text gives the table in at most width columns: the last column is cut first.
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
	var b strings.Builder
	b.WriteString(s.paint(dim, tableLine(t.Head, widths, width)) + "\n")
	for _, row := range t.Rows {
		b.WriteString(t.paint(row, tableLine(row, widths, width), s) + "\n")
	}
	return b.String()
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
			b.WriteString(pad(Clean(cell), widths[i]) + "  ")
		}
	}
	return Cut(strings.TrimRight(b.String(), " "), width)
}

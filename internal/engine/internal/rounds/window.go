package rounds

// Window is how many rows a loop reads of a list whose first rows may stay: those of damaged runs do. It grows until it shows
// something new behind them. The zero value with Least set is ready for use.
type Window struct {
	Least int // rows that are read as long as nothing stays
	rows  int
}

const widest = 128 // times Least: what is read at once has a bound, and so have the rows that may stay

// Rows gives how many rows to read.
func (w *Window) Rows() int { return max(w.rows, w.Least) }

// Saw takes in what was read, how many of it was new, and how much of what was found before is under way; it says whether to
// read again at once, further.
func (w *Window) Saw(read, news, underway int) bool {
	rows := w.Rows()
	switch {
	case read < w.Least:
		w.rows = 0
	case read == rows && news == 0 && underway < w.Least/2 && rows < widest*w.Least:
		w.rows = 2 * rows
		return true
	}
	return false
}

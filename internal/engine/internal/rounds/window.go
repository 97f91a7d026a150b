package rounds

import "sync"

// Window is how many rows a loop reads of a list whose first rows may stay: those of damaged runs do. It grows until it shows
// something new behind them. The zero value with Least set is ready for use, by several goroutines at once.
type Window struct {
	Least int // rows that are read as long as nothing stays

	mu   sync.Mutex
	rows int
}

const widest = 128 // times Least: what is read at once has a bound, and so have the rows that may stay

// Read calls look, which reads a list as far as it is told and gives how many rows it read and how many of them were new; again
// and further, as long as nothing is new and little of what was found before is under way. It gives how many were new.
func (w *Window) Read(underway func() int, look func(limit int) (read, news int, err error)) (int, error) {
	for {
		rows := w.Rows()
		read, news, err := look(rows)
		if err != nil {
			return 0, err
		}
		again := read == rows && news == 0 && rows < widest*w.Least && underway() < w.Least/2
		w.mu.Lock()
		switch {
		case read < w.Least:
			w.rows = 0
		case again:
			w.rows = 2 * rows
		}
		w.mu.Unlock()
		if !again {
			return news, nil
		}
	}
}

// Rows gives how many rows are read next.
func (w *Window) Rows() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.rows, w.Least)
}

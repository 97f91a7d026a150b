package command

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// pipes connect the program with this process. A nil stdin means that the program reads /dev/null.
type pipes struct {
	stdin, stdout, stderr                *os.File // ours
	childStdin, childStdout, childStderr *os.File
}

func openPipes(withStdin bool) (*pipes, error) {
	p := &pipes{}
	var err, errIn error
	if withStdin {
		p.childStdin, p.stdin, errIn = os.Pipe()
	} else {
		p.childStdin, errIn = os.Open(os.DevNull)
	}
	p.stdout, p.childStdout, err = os.Pipe()
	if err = errors.Join(errIn, err); err == nil {
		p.stderr, p.childStderr, err = os.Pipe()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// child gives the program's ends, by file descriptor.
func (p *pipes) child() []*os.File { return []*os.File{p.childStdin, p.childStdout, p.childStderr} }

// closeChild closes our copies of the program's ends, so that a stream ends when the program's copies are closed.
func (p *pipes) closeChild() {
	for _, f := range p.child() {
		_ = f.Close()
	}
}

// cut ends the reading and writing of streams that somebody out of reach still holds open.
func (p *pipes) cut() {
	past := time.Unix(1, 0)
	for _, f := range []*os.File{p.stdout, p.stderr} {
		_ = f.SetReadDeadline(past)
	}
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
}

// close closes everything; what is closed or was never opened is no matter.
func (p *pipes) close() {
	for _, f := range append(p.child(), p.stdin, p.stdout, p.stderr) {
		_ = f.Close()
	}
}

// feed writes the program's standard input. A program that does not read it is free not to.
func feed(f *os.File, input []byte) {
	defer func() { _ = f.Close() }()
	if _, err := f.Write(input); err == nil {
		_, _ = f.Write([]byte{'\n'})
	}
}

// drain reads a stream to its end, or, when its reading is cut short, takes what lies in the pipe and no more.
func drain(f *os.File, take func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		take(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			takeRest(f, buf, take)
			return
		}
		if err != nil {
			return
		}
	}
}

// takeRest reads without waiting. It is bounded, since whoever holds the other end may be writing without end.
func takeRest(f *os.File, buf []byte, take func([]byte)) {
	const mostPipesHold = 1 << 20
	if f.SetReadDeadline(time.Time{}) != nil {
		return
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken < mostPipesHold; {
		var n int
		err := conn.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		take(buf[:n])
		taken += n
	}
}

// capture keeps the beginning of a stream, up to limit bytes, and a little of its end.
type capture struct {
	limit int
	bound int64 // total above which over is called, once
	over  func()

	kept  []byte // the first limit bytes
	last  []byte // the end of what came after them
	total int64
}

const captureTail = 4 << 10

func (c *capture) write(p []byte) {
	before := c.total
	c.total += int64(len(p))
	if before <= c.bound && c.total > c.bound {
		c.over()
	}
	room := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:room]...)
	if p = p[room:]; len(p) == 0 {
		return
	}
	if len(p) >= captureTail {
		c.last = append(c.last[:0], p[len(p)-captureTail:]...)
		return
	}
	if excess := len(c.last) + len(p) - captureTail; excess > 0 {
		c.last = append(c.last[:0], c.last[excess:]...)
	}
	c.last = append(c.last, p...)
}

// tooLarge says whether the stream was longer than what is kept.
func (c *capture) tooLarge() bool { return c.total > int64(c.limit) }

// missing is how many bytes between kept and last were dropped.
func (c *capture) missing() int64 { return c.total - int64(len(c.kept)) - int64(len(c.last)) }

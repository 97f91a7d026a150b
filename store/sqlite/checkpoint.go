package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkpointer brings the log into the file off the hot path, so that the log is overwritten from its beginning instead of
// growing: a commit that overwrites costs a twentieth of one that extends the file.
//
// A checkpoint beside a busy writer never reaches the log's end, and only a log that was brought in whole is begun anew. So
// it works twice: most of it beside the writers, then the little that was added meanwhile while holding the write lock. What
// fails is left to the next time: nothing is lost by it, and a disk that is full is told to the next writer. When the loop
// falls far behind, writers wait for it and help.
type checkpointer struct {
	s      *Store
	pages  int64 // how long the log may grow
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup

	written atomic.Int64 // rows, in all
	due     atomic.Int64 // the number of rows at which to work
	grown   atomic.Bool  // the log has been given its first length

	mu    sync.Mutex // held while working
	c     *conn
	base  int64   // the count when the log was last begun anew
	ratio float64 // pages of the log for one row written, learned
}

const (
	firstBytes = 1 << 20 // what the log is given at once
	firstRatio = 1.0
	lockWait   = 200 * time.Millisecond // how long the checkpointer asks for the write lock
)

// newCheckpointer starts the loop; stop ends it.
func newCheckpointer(ctx context.Context, s *Store) *checkpointer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &checkpointer{s: s, wake: make(chan struct{}, 1), cancel: cancel, pages: int64(s.o.logPages), ratio: firstRatio}
	k.due.Store(k.pages)
	k.done.Go(func() { k.loop(ctx) })
	return k
}

// note tells how many rows the writer has written in all. The caller does not hold the writer.
func (k *checkpointer) note(ctx context.Context, written int) {
	k.written.Store(int64(written))
	switch late := int64(written) - k.due.Load(); {
	case late >= k.pages:
		k.work(ctx)
	case late >= 0 || !k.grown.Load():
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

func (k *checkpointer) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			if !k.grown.Load() {
				k.grow(ctx)
				k.grown.Store(true)
			}
			k.work(ctx)
		}
	}
}

// grow gives the log its first length, so that not even the commits of a short life extend it. SQLite takes zeros behind
// the last frame for nothing, and the write lock keeps everybody from adding one meanwhile.
func (k *checkpointer) grow(ctx context.Context) {
	select {
	case w := <-k.s.writer:
		defer func() { k.s.writer <- w }()
		ctx, cancel := context.WithTimeout(ctx, lockWait)
		defer cancel()
		if err := k.s.begin(ctx, w); err != nil {
			return
		}
		defer w.Rollback()
		_ = lengthen(k.s.path+"-wal", firstBytes) // a log that stays short is slower and nothing else
	case <-ctx.Done():
	}
}

// lengthen fills the file up with zeros, or leaves it as it was.
func lengthen(path string, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() >= size {
		return err
	}
	if _, err = f.WriteAt(make([]byte, size-info.Size()), info.Size()); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Truncate(info.Size()))
	}
	return nil
}

func (k *checkpointer) work(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.written.Load() < k.due.Load() { // somebody else was faster
		return
	}
	if k.c == nil {
		c, err := k.s.connect(ctx)
		if err != nil {
			return
		}
		k.c = c
	}
	if _, _, err := checkpoint(k.c); err != nil {
		k.due.Add(k.pages / 4)
		return
	}
	select {
	case w := <-k.s.writer:
		k.finish(ctx, w)
		k.s.writer <- w
	case <-ctx.Done():
	}
}

// finish brings in the rest while nobody writes.
func (k *checkpointer) finish(ctx context.Context, w *conn) {
	written := int64(w.Written)
	k.due.Store(written + k.pages/4) // when it fails
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if err := k.s.begin(ctx, w); err != nil {
		return
	}
	defer w.Rollback()
	pages, brought, err := checkpoint(k.c)
	if err != nil || brought < pages {
		return
	}
	if rows := written - k.base; rows > 0 {
		k.ratio = min(10, max(0.1, float64(pages)/float64(rows)))
	}
	k.base = written
	k.due.Store(written + int64(float64(k.pages)/k.ratio))
}

// checkpoint gives how many pages the log has and how many of them are in the file.
func checkpoint(c *conn) (pages, brought int, err error) {
	_, err = c.One("pragma wal_checkpoint(passive)", func(r *row) error {
		pages, brought = r.ColumnInt(1), r.ColumnInt(2)
		return nil
	})
	return pages, brought, err
}

// stop ends the loop and waits for it.
func (k *checkpointer) stop() error {
	k.stopLoop()
	if k.c == nil {
		return nil
	}
	return k.c.DB.Close()
}

func (k *checkpointer) stopLoop() {
	k.cancel()
	k.done.Wait()
}

package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// inHand measures the memory of the process while a thousand tasks are in hand. It is the first measurement, so that nothing
// else has left anything behind.
func inHand(ctx context.Context, at *place) (out []figure, err error) {
	db, err := at.database(ctx)
	if err != nil {
		return nil, err
	}
	b, err := drive.Open(ctx, db, drive.Holding())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Start(ctx, drive.Slots); err != nil {
		return nil, err
	}
	_, err = b.Drive(ctx, drive.Slots, func() error {
		for range drive.Slots {
			select {
			case <-b.Held:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		out = append(out, figure{"resident", residentMiB(), "MiB"})
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		out = append(out, figure{"heap and stacks of Go", float64(m.HeapInuse+m.StackInuse) / (1 << 20), "MiB"})
		close(b.Release)
		return nil
	})
	return out, err
}

// residentMiB gives what Linux says that this process has in memory; 0 elsewhere.
func residentMiB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			if err != nil {
				return 0
			}
			return kib / 1024
		}
	}
	return 0
}

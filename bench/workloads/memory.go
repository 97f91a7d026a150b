package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const holding = "workflow: bench\nsteps:\n  - { id: s0, task: hold }\n"

// inHand measures the memory of the process while a thousand tasks are in hand. It is the first measurement, so that nothing
// else has left anything behind.
func inHand(ctx context.Context, path string) (out []figure, err error) {
	b, err := open(ctx, path, holding)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
	if err := b.start(ctx, slots); err != nil {
		return nil, err
	}
	_, err = b.drive(ctx, slots, func() error {
		for range slots {
			select {
			case <-b.held:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		out = append(out, figure{"resident", residentMiB(), "MiB"})
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		out = append(out, figure{"heap and stacks of Go", float64(m.HeapInuse+m.StackInuse) / (1 << 20), "MiB"})
		close(b.release)
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

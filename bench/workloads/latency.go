package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace-go/millrace/bench/internal/drive"
)

// latency is W4: one run at a time in an idle system, from the call of Start to its end.
func latency(ctx context.Context, at *place) ([]figure, error) {
	var out []figure
	for _, n := range []int{1, 5} {
		db, err := at.database(ctx)
		if err != nil {
			return nil, err
		}
		b, err := drive.Open(ctx, db, drive.Steps(n))
		if err != nil {
			return nil, err
		}
		times, err := b.OneByOne(ctx, 200)
		if err = errors.Join(err, b.Close()); err != nil {
			return nil, err
		}
		slices.Sort(times)
		for _, p := range []int{50, 95, 99} {
			ms := float64(times[len(times)*p/100].Microseconds()) / 1000
			out = append(out, figure{fmt.Sprintf("%d steps, p%d", n, p), ms, "ms"})
		}
	}
	return out, nil
}

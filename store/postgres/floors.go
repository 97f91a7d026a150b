package postgres

import (
	"math"
	"sync"
	"time"
)

// floors keep claims of a large lane from walking over rows that were taken and that a snapshot somewhere still holds: after
// a claim that was slow and got all it asked for, the next ones begin at the rank that it came to. What has come back below
// it, or is new there, is found by the next claim without a floor, a second later at most.
type floors struct {
	mu sync.Mutex
	of map[int64]floor
}

type floor struct {
	rank  int64
	until time.Time
}

const (
	floorFor  = time.Second
	floorSlow = 20 * time.Millisecond // what a claim that meets few dead rows takes by far less
	floorFrom = 50                    // a claim for less may as well have found all there was
)

// use gives the floor of each lane, and says whether there is any.
func (f *floors) use(lanes []int64) (ranks []int64, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ranks = make([]int64, len(lanes))
	for i, lane := range lanes {
		ranks[i] = math.MinInt64
		if known, ok := f.of[lane]; ok && time.Now().Before(known.until) {
			ranks[i], some = known.rank, true
		}
	}
	return ranks, some
}

// learn takes what a claim over these floors gave, and how long it took.
func (f *floors) learn(lanes, limits, ranks []int64, rows []brought, took time.Duration) {
	counts, highest := map[int64]int64{}, map[int64]int64{}
	for i := range rows {
		lane, rank := rows[i].lane, rows[i].rank()
		if counts[lane]++; counts[lane] == 1 || rank > highest[lane] {
			highest[lane] = rank
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, lane := range lanes {
		full := counts[lane] == limits[i] && limits[i] >= floorFrom
		used := ranks[i] != math.MinInt64
		switch {
		case full && used:
			known := f.of[lane]
			known.rank = highest[lane]
			f.of[lane] = known
		case full && took >= floorSlow:
			if f.of == nil {
				f.of = map[int64]floor{}
			}
			f.of[lane] = floor{highest[lane], time.Now().Add(floorFor)}
		default:
			delete(f.of, lane)
		}
	}
}

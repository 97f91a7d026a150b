// Package pure is not.
package pure

import (
	"math/rand/v2" // want: pure
	"os"           // want: pure
	clock "time"
)

var epoch = clock.Unix(0, 0)

func now() clock.Time { return clock.Now() } // want: pure

func later() *clock.Timer {
	select { // want: pure
	case <-clock.After(clock.Second): // want: pure
	default:
	}
	return clock.NewTimer(1) // want: pure
}

func random() int {
	go os.Getpid() // want: pure
	return rand.Int()
}

type fake struct{ Now func() int }

func pretended(time fake) int { return time.Now() }

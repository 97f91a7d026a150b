// Package m may sleep.
package m

import "time"

func nap(t interface{ Skip() }) {
	time.Sleep(1)
	t.Skip()
}

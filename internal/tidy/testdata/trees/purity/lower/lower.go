// Package lower need not be pure.
package lower

import "time"

func now() time.Time {
	go func() {}()
	return time.Now()
}

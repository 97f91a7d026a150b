package pure

import (
	"os"
	"time"
)

func allowedInTests() int64 {
	go os.Getpid()
	return time.Now().Unix()
}

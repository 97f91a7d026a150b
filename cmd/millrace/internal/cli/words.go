package cli

import (
	"strconv"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
)

const aboutRun = arguments.AboutRun

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return itoa(n) + " " + word + "s"
}

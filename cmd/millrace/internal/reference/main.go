// Command reference writes the page on the command line, made of its help, to the file that is named: `make docs` calls it.
package main

import (
	"fmt"
	"os"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reference FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(page(cli.Commands())), 0o644); err != nil { //nolint:gosec // a page for everybody
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

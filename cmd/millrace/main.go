// Command millrace runs durable workflows from files: see `millrace --help`.
package main

import (
	"os"

	"github.com/millrace-go/millrace/cmd/millrace/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

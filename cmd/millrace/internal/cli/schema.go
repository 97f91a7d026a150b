package cli

import (
	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/workflow"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of workflow files, for editors",
		Long: `Prints the JSON Schema (2020-12) by which editors check and complete workflow files. A workflow file names it in its
first line:

    # yaml-language-server: $schema=./millrace.schema.json`,
		Example: `  millrace schema > millrace.schema.json`,
		Args:    atMost(0, "usage: millrace schema"),
		RunE: func(*cobra.Command, []string) error {
			return writeText(a.out, string(workflow.Schema()))
		},
	}
}

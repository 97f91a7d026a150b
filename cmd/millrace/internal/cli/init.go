package cli

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/starter"
	"github.com/millrace-go/millrace/workflow"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first workflow with its script, to try and to change",
		Long: `Writes hello.yaml, its script greet.sh, and millrace.schema.json, by which editors check and complete workflow
files; then names two commands to try. Files that exist are never overwritten.`,
		Example: `  millrace init
  millrace init jobs`,
		Args: atMost(1, "usage: millrace init [DIR]"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.init(dir)
		},
	}
}

func (a *app) init(dir string) error {
	names, err := starter.Write(dir, workflow.Schema())
	if e, ok := errors.AsType[*starter.ExistsError](err); ok {
		return &failure{
			status: statusRefused, code: "exists", message: e.Error(), hint: "name another folder: millrace init DIR",
		}
	}
	if err != nil {
		return err
	}
	flow := filepath.Join(dir, starter.Workflow)
	try := []string{"millrace run " + flow, "millrace run " + flow + " -i name=Ada -i times=3"}
	if a.json {
		return a.print(map[string]any{"files": names, "try": try})
	}
	for _, name := range names {
		a.say("wrote %s", name)
	}
	a.say("try:")
	for _, command := range try {
		if err := writeText(a.out, "  "+command+"\n"); err != nil {
			return err
		}
	}
	return nil
}

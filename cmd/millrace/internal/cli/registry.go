package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/workflow"
)

// registered is a workflow that `register` stored, or found stored.
type registered struct {
	File     string `json:"file"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	Created  bool   `json:"created"`
}

func (a *app) registerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "register FILE..",
		Short: "Store workflows, so that they can be started by name",
		Long: `Checks files and stores their workflows, once for ever: the same content again changes nothing, other content needs
another version, which is given when the file names none. Runs that exist keep the version they started with.`,
		Example: `  millrace register order.yaml
  millrace register flows/*.yaml --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: millrace register FILE..", "name the files to register")
			}
			return nil
		},
		RunE: func(c *cobra.Command, files []string) error { return a.register(c.Context(), files) },
	}
}

func (a *app) register(ctx context.Context, files []string) error {
	type item struct {
		file string
		def  *workflow.Definition
	}
	var items []item
	for _, file := range files { // all of them are right, or none is stored
		defs, err := readWorkflows(file)
		if err != nil {
			return err
		}
		for _, def := range defs {
			items = append(items, item{file, def})
		}
	}
	st, _, err := a.create(ctx, arguments.Duration(longestBusy), false)
	if err != nil {
		return err
	}
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	eng, err := engine.New(st, engine.Config{Logger: quiet()})
	out := make([]registered, 0, len(items))
	for _, i := range items {
		if err != nil {
			break
		}
		r := registered{File: i.file, Workflow: i.def.Name}
		r.Version, r.Created, err = eng.Register(ctx, a.tenant, i.def)
		out = append(out, r)
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]any{"workflows": out})
	}
	for _, r := range out {
		state := "registered"
		if !r.Created {
			state = "registered already"
		}
		if err := writeText(a.out, r.Workflow+" v"+strconv.Itoa(r.Version)+": "+state+"\n"); err != nil {
			return err
		}
	}
	return nil
}

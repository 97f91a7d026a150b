package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/workflow"
	"github.com/millrace-go/millrace/workflow/draw"
)

func (a *app) graphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph FILE|RUN",
		Short: "Draw a workflow",
		Long: `Draws the workflow of a file, or the one of a run as it was when the run started: as text, as a Mermaid
flowchart that web pages and editors show, as a graph for Graphviz (dot), or as a picture (svg). The steps of a run
have the marks and colours of how they stand.`,
		Example: `  millrace graph order.yaml
  millrace graph order.yaml --format mermaid > order.mmd
  millrace graph @last
  millrace graph 5f3a --format svg > run.svg`,
		Args: atMost(1, "usage: millrace graph FILE|RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.graph(c.Context(), strings.Join(args, ""), format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "the `FORMAT`: text, mermaid, dot or svg")
	return c
}

func (a *app) graph(ctx context.Context, what, format string) error {
	drawing, ok := map[string]func(*workflow.Definition, draw.States) string{
		"text": draw.Text, "mermaid": draw.Mermaid, "dot": draw.DOT, "svg": draw.SVG,
	}[format]
	if !ok {
		hint := "write --format text, mermaid, dot or svg"
		return usage(hint, "there is no format %q", format)
	}
	def, states, err := a.fileOrRun(ctx, what)
	if err != nil {
		return err
	}
	picture := drawing(def, states)
	if a.json {
		return a.print(map[string]any{"workflow": def.Name, "version": def.Version, "format": format, "graph": picture})
	}
	return writeText(a.out, strings.TrimRight(picture, "\n")+"\n")
}

// fileOrRun reads the definition of a file if there is one of this name, else that of a run, with the states of its steps.
func (a *app) fileOrRun(ctx context.Context, what string) (*workflow.Definition, draw.States, error) {
	if _, err := os.Stat(what); what != "" && (err == nil || looksLikeFile(what)) {
		def, err := readWorkflow(what)
		return def, nil, err
	}
	states := draw.States{}
	def, err := withClient(ctx, a, func(c *millrace.Client) (*workflow.Definition, error) {
		ctx, cancel := desk.Limited(ctx)
		defer cancel()
		id, err := c.Find(ctx, a.tenant, what)
		if errors.Is(err, store.ErrNotFound) && what != "" {
			return nil, &failure{
				status: statusRefused, code: "not_found", message: fmt.Sprintf("there is no file and no run %q", what),
				hint: "`millrace runs` lists the runs",
			}
		}
		if err != nil {
			return nil, err
		}
		v, err := c.Show(ctx, a.tenant, id, millrace.ShowOptions{Steps: -1})
		if err != nil {
			return nil, err
		}
		for _, s := range v.Steps {
			states[s.Path] = s.Status
		}
		return c.Definition(ctx, a.tenant, v.Workflow, v.Version)
	})
	return def, states, err
}

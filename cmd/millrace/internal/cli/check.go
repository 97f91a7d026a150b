package cli

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

type checked struct {
	File     string `json:"file"`
	Workflow string `json:"workflow"`
	Version  *int   `json:"version"`
	Steps    int    `json:"steps"`
}

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE..",
		Short: "Check workflow files",
		Long: `Checks files without running anything. All mistakes come at once, each as FILE:LINE:COLUMN with what to
write instead.`,
		Example: `  millrace validate order.yaml
  millrace validate flows/*.yaml --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("usage: millrace validate FILE..", "name the files to check")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, files []string) error { return a.validate(files) },
	}
}

func (a *app) validate(files []string) error {
	good := []checked{}
	var mistakes []workflow.Mistake
	var first error
	for _, file := range files {
		def, err := readWorkflow(file)
		var m *workflow.Mistakes
		switch {
		case errors.As(err, &m):
			mistakes = append(mistakes, m.List...)
		case err != nil && first == nil:
			first = err
		case err == nil:
			good = append(good, summary(file, def))
		}
	}
	if len(mistakes) > 0 {
		first = errors.Join(&workflow.Mistakes{List: mistakes}, first)
	}
	if a.json {
		if first != nil {
			return first
		}
		return a.print(map[string]any{"files": good})
	}
	for _, c := range good {
		if err := writeText(a.out, c.String()+"\n"); err != nil {
			return err
		}
	}
	return first
}

func summary(file string, def *workflow.Definition) checked {
	c := checked{File: file, Workflow: def.Name, Steps: len(def.Steps)}
	if def.Version > 0 {
		c.Version = &def.Version
	}
	return c
}

// String gives one line for people.
func (c checked) String() string {
	return c.File + ": ok, workflow " + c.Workflow + ", " + plural(c.Steps, "step")
}

func (a *app) graphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph FILE|RUN",
		Short: "Draw a workflow",
		Long: `Draws the workflow of a file, or the one of a run as it was when the run started: as text, as a Mermaid
flowchart that web pages and editors show, as a graph for Graphviz (dot), or as a picture (svg).`,
		Example: `  millrace graph order.yaml
  millrace graph order.yaml --format mermaid > order.mmd
  millrace graph @last`,
		Args: atMost(1, "usage: millrace graph FILE|RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.graph(c.Context(), strings.Join(args, ""), format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, mermaid, dot or svg")
	return c
}

func (a *app) graph(ctx context.Context, what, format string) error {
	draw, ok := map[string]func(*workflow.Definition, workflow.States) string{
		"text": workflow.DrawText, "mermaid": workflow.DrawMermaid, "dot": workflow.DrawDOT, "svg": workflow.DrawSVG,
	}[format]
	if !ok {
		hint := "write --format text, mermaid, dot or svg"
		return usage(hint, "there is no format %q", format)
	}
	def, err := a.fileOrRun(ctx, what)
	if err != nil {
		return err
	}
	picture := draw(def, nil)
	if a.json {
		return a.print(map[string]any{"workflow": def.Name, "version": def.Version, "format": format, "graph": picture})
	}
	return writeText(a.out, strings.TrimRight(picture, "\n")+"\n")
}

// fileOrRun reads the definition of a file if there is one of this name, else that of a run.
func (a *app) fileOrRun(ctx context.Context, what string) (*workflow.Definition, error) {
	if _, err := os.Stat(what); what != "" && (err == nil || looksLikeFile(what)) {
		return readWorkflow(what)
	}
	return withClient(ctx, a, func(c *millrace.Client) (*workflow.Definition, error) {
		id, err := c.Find(ctx, a.tenant, what)
		if err != nil {
			return nil, err
		}
		v, err := c.Show(ctx, a.tenant, id, millrace.ShowOptions{Live: true})
		if err != nil {
			return nil, err
		}
		return c.Definition(ctx, a.tenant, v.Workflow, v.Version)
	})
}

func looksLikeFile(s string) bool {
	return strings.HasSuffix(s, ".yaml") || strings.HasSuffix(s, ".yml") || strings.HasSuffix(s, ".json")
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Tell the version of this program",
		Example: `  millrace version --json`,
		Args:    atMost(0, "usage: millrace version"),
		RunE: func(*cobra.Command, []string) error {
			version, commit := buildVersion()
			if a.json {
				return a.print(map[string]any{
					"version": version, "commit": commit, "machine_version": machine.Version,
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			line := "millrace " + version
			if commit != "" {
				line += " (" + commit[:min(len(commit), 12)] + ")"
			}
			return writeText(a.out, line+" "+runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n")
		},
	}
}

func buildVersion() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = s.Value
		}
	}
	return info.Main.Version, commit
}

// atMost checks the number of arguments.
func atMost(n int, form string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usage(form, "unexpected argument %q", args[n])
		}
		return nil
	}
}

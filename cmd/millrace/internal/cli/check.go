package cli

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/arguments"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

type checked struct {
	File     string `json:"file"`
	Workflow string `json:"workflow"`
	Version  *int   `json:"version"`
	Steps    int    `json:"steps"`
	// NotYet is what the workflow uses and this version does not run.
	NotYet []workflow.Mistake `json:"not_yet"`
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
		defs, err := readWorkflows(file)
		var m *workflow.Mistakes
		switch {
		case errors.As(err, &m):
			mistakes = append(mistakes, m.List...)
		case err != nil && first == nil:
			first = err
		default:
			for _, def := range defs {
				good = append(good, summary(file, def))
			}
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
		for _, m := range c.NotYet {
			a.say("%s", m)
		}
	}
	return first
}

func summary(file string, def *workflow.Definition) checked {
	c := checked{File: file, Workflow: def.Name, Steps: steps(def), NotYet: def.NotYet()}
	if c.NotYet == nil {
		c.NotYet = []workflow.Mistake{}
	}
	if def.Version > 0 {
		c.Version = &def.Version
	}
	return c
}

// steps counts the steps of a definition, without what undoes or notifies.
func steps(def *workflow.Definition) (n int) {
	for _, s := range def.Steps {
		switch slot := s.Body.Slot; {
		case slot == "compensate" || slot == "notify" || strings.HasPrefix(slot, "compensations/"):
		default:
			n++
		}
	}
	return n
}

// String gives one line for people.
func (c checked) String() string {
	return c.File + ": ok, workflow " + c.Workflow + ", " + screen.Plural(c.Steps, "step")
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
func atMost(n int, form string) cobra.PositionalArgs { return arguments.AtMost(n, form) }

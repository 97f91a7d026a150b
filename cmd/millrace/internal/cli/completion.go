package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/store"
)

const (
	completed      = 20 // runs that a shell is offered
	completionTime = time.Second
)

// complete offers runs where a command takes one, workflows where it takes one of those too, and files otherwise.
func (a *app) complete(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, flag := range []string{"listen-db", "tenant"} { // neither names a file
		_ = root.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions) // it is there
	}
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Short = "Print a script by which a shell completes commands, runs and files"
			c.Long = `Each shell has its own: "millrace completion SHELL --help" tells how it is loaded for good.`
			c.Example = `  source <(millrace completion bash)
  millrace completion fish > ~/.config/fish/completions/millrace.fish`
		case "resume", "watch", "show", "logs", "journal", "cancel", "abort", "pause", "retry", "doctor":
			c.ValidArgsFunction = a.offerRuns
		case "start":
			c.ValidArgsFunction = a.offerWorkflows
		case "runs", "dead", "queues", "workflows", "schema", "version":
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

func (a *app) offerRuns(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	offers, err := withClient(c.Context(), a, func(client *millrace.Client) ([]string, error) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		runs, _, err := client.Runs(ctx, store.Filter{Tenant: a.tenant, Limit: completed})
		var out []string
		for _, r := range runs {
			out = append(out, screen.Ending(r.ID)+"\t"+r.Workflow+" "+string(r.Status))
		}
		return out, err
	})
	if err != nil { // a shell that asks in vain offers nothing
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) offerWorkflows(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	offers, err := withClient(c.Context(), a, func(client *millrace.Client) ([]string, error) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list, err := client.Workflows(ctx, a.tenant)
		var out []string
		for _, w := range list {
			out = append(out, w.Name+"\t"+w.Title)
		}
		return out, err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return offers, cobra.ShellCompDirectiveDefault
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

const (
	completed      = 20               // runs or dead letters that a shell is offered
	completionTime = 10 * time.Second // for looking them up
)

// complete offers runs and dead letters where a command takes them, workflows where it takes one of those too, else files.
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
		case "watch", "show", "logs", "journal", "doctor":
			c.ValidArgsFunction = one(a.runs)
		case "resume", "cancel", "abort", "pause", "retry":
			c.ValidArgsFunction = several(a.runs)
		case "start":
			c.ValidArgsFunction = oneOrFile(a.workflows)
		case "graph":
			c.ValidArgsFunction = oneOrFile(a.runs)
		case "runs", "dead", "queues", "workflows", "schema", "version", "migrate", "prune":
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		if c.Name() == "dead" {
			a.completeDead(c)
		}
	}
}

func (a *app) completeDead(dead *cobra.Command) {
	for _, c := range dead.Commands() {
		switch c.Name() {
		case "show":
			c.ValidArgsFunction = one(a.letters)
		case "redrive", "drop":
			c.ValidArgsFunction = several(a.letters)
		default:
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// offers looks up what a shell may be offered: a word, a tab and what it is.
type offers func(c *cobra.Command) ([]string, error)

// one completes the first argument alone.
func one(look offers) cobra.CompletionFunc {
	all := several(look)
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(c, args, word)
	}
}

// oneOrFile completes the first argument alone, which may also be a file.
func oneOrFile(look offers) cobra.CompletionFunc {
	all := one(look)
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		found, how := all(c, args, word)
		if len(args) == 0 {
			how &^= cobra.ShellCompDirectiveNoFileComp
		}
		return found, how
	}
}

// several completes any number of arguments, each by what is not among those before it.
func several(look offers) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		found, err := look(c)
		if err != nil { // a shell that asks in vain offers nothing
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found = slices.DeleteFunc(found, func(offer string) bool {
			word, _, _ := strings.Cut(offer, "\t")
			return slices.Contains(args, word)
		})
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func (a *app) runs(c *cobra.Command) ([]string, error) {
	return withClient(c.Context(), a, func(client *millrace.Client) ([]string, error) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		runs, _, err := client.Runs(ctx, store.Filter{Tenant: a.tenant, Limit: completed})
		var out []string
		for _, r := range runs {
			out = append(out, screen.Ending(r.ID)+"\t"+r.Workflow+" "+string(r.Status))
		}
		return out, err
	})
}

func (a *app) letters(c *cobra.Command) ([]string, error) {
	return withClient(c.Context(), a, func(client *millrace.Client) ([]string, error) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		letters, _, err := client.DeadLetters(ctx, store.LetterFilter{Tenant: a.tenant, State: machine.LetterOpen, Limit: completed})
		var out []string
		for _, l := range letters {
			out = append(out, fmt.Sprintf("%d\t%s %s %s", l.ID, l.Workflow, l.Kind, l.Path))
		}
		return out, err
	})
}

func (a *app) workflows(c *cobra.Command) ([]string, error) {
	return withClient(c.Context(), a, func(client *millrace.Client) ([]string, error) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list, err := client.Workflows(ctx, a.tenant)
		var out []string
		for _, w := range list {
			out = append(out, w.Name+"\t"+w.Title)
		}
		return out, err
	})
}

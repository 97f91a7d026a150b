package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// page gives the page on every command, made of the same words as the help. It does not depend on the environment.
func page(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is made from the help of the program by `make docs`; [cli.md](../cli.md) says what all commands have in common.\n\n")
	b.WriteString("| command | does |\n|---|---|\n")
	commands := documented(root)
	for _, c := range commands {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", cell(c.Use), anchor(c), cell(c.Short))
	}
	b.WriteString("\n## Flags of all commands\n\n")
	flags(&b, root.PersistentFlags())
	for _, c := range commands {
		command(&b, "## ", c.Name(), c.Use, c)
		for _, sub := range documented(c) {
			if c.Name() == "completion" { // its shells explain themselves
				fmt.Fprintf(&b, "\n- `millrace %s %s`: %s.\n", c.Name(), sub.Use, strings.TrimSuffix(sub.Short, "."))
				continue
			}
			command(&b, "### ", c.Name()+" "+sub.Name(), c.Name()+" "+sub.Use, sub)
		}
	}
	return b.String()
}

// command writes what the help says of one command.
func command(b *strings.Builder, level, name, use string, c *cobra.Command) {
	fmt.Fprintf(b, "\n%s%s\n\n%s.\n", level, name, c.Short)
	fmt.Fprintf(b, "\n    millrace %s\n", use)
	if c.Long != "" {
		b.WriteString("\n" + prose(c.Long) + "\n")
	}
	if c.HasAvailableLocalFlags() && c.LocalNonPersistentFlags().HasAvailableFlags() {
		b.WriteString("\n")
		flags(b, c.LocalNonPersistentFlags())
	}
	if c.Example != "" {
		b.WriteString("\n" + indented(c.Example) + "\n")
	}
}

// documented gives the commands that people see.
func documented(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, sub)
		}
	}
	return out
}

func anchor(c *cobra.Command) string { return strings.ToLower(c.Name()) }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// prose gives a text of the help as paragraphs.
func prose(s string) string { return strings.TrimSpace(s) }

// indented makes the examples of a command a block of code.
func indented(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = "    " + strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

func flags(w io.Writer, set *pflag.FlagSet) {
	_, _ = io.WriteString(w, "| flag | means |\n|---|---|\n") // a page in memory takes everything
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value, text := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + value
		}
		if def := referenceDefault(f); def != "" {
			text += " (" + def + ")"
		}
		_, _ = fmt.Fprintf(w, "| %s` | %s |\n", name, cell(text))
	})
}

// referenceDefault gives a flag's default as the page shows it: that of this machine is described.
func referenceDefault(f *pflag.Flag) string {
	switch f.Name {
	case "db", "tenant": // their words name it
		return ""
	case "slots":
		return "four for each processor"
	}
	switch f.DefValue {
	case "", "false", "[]", "0":
		return ""
	}
	return f.DefValue
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
)

// later are commands of the command line's contract that this version does not have yet.
var later = map[string]string{
	"why": "use `millrace show`", "emit": "", "approvals": "", "approve": "", "reject": "", "server": "", "dev": "", "bench": "",
}

// laterFlags are flags of the contract that this version does not have yet.
var laterFlags = []string{"waiting"}

// unknownCommand finds out whether args begin with a command that there is not, and what was meant.
func unknownCommand(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil && cmd != root {
		return nil
	}
	if slices.ContainsFunc(args, func(s string) bool { return s == "--help" || s == "-h" }) && err == nil {
		return nil
	}
	name := firstWord(root, rest)
	if name == "" || slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, name) {
		return nil
	}
	if instead, ok := later[name]; ok {
		return usage(orElse(instead, "`millrace --help` lists what there is"),
			"`%s` is part of the command line but does not run in this version yet", name)
	}
	var known []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	return usage(suggest.DidYouMean(name, known, "`millrace --help` lists what there is"), "there is no command %q", name)
}

// firstWord is the first of args that is neither a flag nor the value of one.
func firstWord(root *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			return word
		}
		if f := root.PersistentFlags().Lookup(strings.TrimLeft(word, "-")); f != nil && f.NoOptDefVal == "" {
			i++
		}
	}
	return ""
}

// flagError says what is wrong with a flag, and which one was meant.
func flagError(c *cobra.Command, err error) error {
	see := fmt.Sprintf("`%s --help` lists its flags", c.CommandPath())
	message := err.Error()
	name, found := strings.CutPrefix(message, "unknown flag: --")
	if !found {
		return usage(see, "%s", message)
	}
	if slices.Contains(laterFlags, name) {
		return usage(see, "`--%s` is part of the command line but does not run in this version yet", name)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return usage(suggest.DidYouMean("--"+name, known, see), "`%s` has no flag --%s", c.CommandPath(), name)
}

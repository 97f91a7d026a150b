package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// later are commands of the command line's contract that this version does not have yet.
var later = map[string]string{
	"why": "use `millrace show`", "cancel": "", "abort": "", "pause": "", "retry": "", "emit": "", "approvals": "",
	"approve": "", "reject": "", "dead": "use `millrace show`", "server": "", "dev": "", "migrate": "", "prune": "",
	"doctor": "", "bench": "",
}

// laterFlags are flags of the contract that this version does not have yet.
var laterFlags = []string{"var", "from", "at", "delay", "label", "detach", "waiting", "code", "failed-at", "attempt", "failed", "secrets"}

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
	return usage(didYouMean(name, known, "`millrace --help` lists what there is"), "there is no command %q", name)
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
	return usage(didYouMean("--"+name, known, see), "`%s` has no flag --%s", c.CommandPath(), name)
}

func didYouMean(word string, known []string, otherwise string) string {
	best, least := "", 3
	for _, k := range known {
		d := distance(word, k)
		if strings.HasPrefix(k, word) && len(word) > 1 {
			d = 1
		}
		if d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean `%s`?", best)
}

// distance is the number of letters to add, remove, change or swap with their neighbour to get from a to b (optimal string
// alignment).
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

package arguments

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/workflow"
)

// Vars is how the values of a workflow's variables are given.
type Vars struct {
	values []string // NAME=VALUE
}

// Add adds the flag.
func (v *Vars) Add(c *cobra.Command) {
	c.Flags().StringArrayVar(&v.values, "var", nil, "a value of the workflow's variables, `NAME=VALUE`; else $MILLRACE_VAR_NAME, else the default")
}

// Build gives the values that the command line and the environment name for the variables of def, each converted to the type
// of its default. Those that nobody names are left out.
func (v Vars) Build(def *workflow.Definition, lookup func(string) (string, bool)) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	types := map[string][]string{}
	for _, declared := range def.Vars {
		types[declared.Name] = kindOf(declared.Default)
		text, name, found := fromEnvironment("MILLRACE_VAR_", declared.Name, lookup)
		if !found {
			continue
		}
		value, err := convertNamed("variable "+declared.Name, name+"=", text, types[declared.Name])
		if err != nil {
			return nil, err
		}
		out[declared.Name] = value
	}
	for _, pair := range v.values {
		name, text, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, mistake("write --var NAME=VALUE", "--var %q does not name a variable", pair)
		}
		value, err := convertNamed("variable "+name, "--var "+name+"=", text, types[name])
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// kindOf gives the type of a default, nil for text and for none: then text stays text.
func kindOf(value json.RawMessage) []string {
	if len(value) == 0 {
		return nil
	}
	switch value[0] {
	case '{':
		return []string{"object"}
	case '[':
		return []string{"array"}
	case 't', 'f':
		return []string{"boolean"}
	case '"', 'n':
		return nil
	default:
		return []string{"number"}
	}
}

// fromEnvironment looks for a value under its own name, and under the name in capitals with underscores for hyphens.
func fromEnvironment(prefix, name string, lookup func(string) (string, bool)) (value, found string, ok bool) {
	shout := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	for _, n := range []string{prefix + name, prefix + shout} {
		if value, ok := lookup(n); ok {
			return value, n, true
		}
	}
	return "", "", false
}

// Labels is how a run's labels are given.
type Labels struct {
	values []string // NAME=VALUE
}

// Add adds the flag, with what it does in this command.
func (l *Labels) Add(c *cobra.Command, about string) {
	c.Flags().StringArrayVar(&l.values, "label", nil, about)
}

// Build gives the labels; nil when there are none.
func (l Labels) Build() (map[string]string, error) {
	var out map[string]string
	for _, pair := range l.values {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, mistake("write --label NAME=VALUE", "--label %q has no name and value", pair)
		}
		if was, twice := out[name]; twice && was != value {
			return nil, mistake("give it once", "--label %s is given twice, with different values", name)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}

// Secrets is how the secrets of steps are given.
type Secrets struct {
	file string
}

// Add adds the flag.
func (s *Secrets) Add(c *cobra.Command) {
	c.Flags().StringVar(&s.file, "secrets", "", "a `FILE` of secrets, NAME=VALUE lines; else $MILLRACE_SECRET_NAME")
}

// Find reads the file, if one was named, and gives what finds a secret: in the file, else in the environment. It is safe for
// concurrent use.
func (s Secrets) Find(lookup func(string) (string, bool)) (func(name string) (string, bool), error) {
	var known map[string]string
	if s.file != "" {
		var err error
		if known, err = readSecrets(s.file); err != nil {
			return nil, err
		}
	}
	return func(name string) (string, bool) {
		if value, ok := known[name]; ok {
			return value, true
		}
		value, _, ok := fromEnvironment("MILLRACE_SECRET_", name, lookup)
		return value, ok
	}, nil
}

const longestSecret = 64 << 10

// readSecrets reads lines of NAME=VALUE. Empty lines and those that begin with # are passed over; a value in double quotes is
// JSON text, so that it may hold line ends; any other is taken as it stands. A mistake names the line, never what it holds.
func readSecrets(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	out := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestSecret)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, mistake("write NAME=VALUE", "%s:%d is no secret", file, n)
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &value) != nil {
			return nil, mistake(`write the value as JSON text, such as "two\nlines", or without the quotes`,
				"%s:%d: the value is not well quoted", file, n)
		}
		out[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the secrets in %s: %w", file, err)
	}
	return out, nil
}

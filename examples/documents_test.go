package examples_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/workflow"
)

func TestTheWorkflowsOfTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../README.md", "../docs/format.md"} {
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s shows no workflow", page)
		}
		for _, b := range blocks {
			if _, err := workflow.Read(page, []byte(b[1])); err != nil {
				t.Error(err)
			}
		}
	}
}

// The contract names every command, and the reference that is made of the help every flag.
func TestEveryCommandAndFlagIsInTheDocuments(t *testing.T) {
	t.Parallel()
	page, reference := read(t, "../docs/cli.md"), read(t, "../docs/reference/cli.md")
	commands := regexp.MustCompile(`(?m)^  (\w+) `).FindAllStringSubmatch(section(help(t), "Available Commands:"), -1)
	if len(commands) == 0 {
		t.Fatal("the help names no command")
	}
	for _, c := range commands {
		name := c[1]
		if name == "help" {
			continue
		}
		if !regexp.MustCompile("`" + name + "[ `]").MatchString(page) {
			t.Errorf("docs/cli.md does not name the command %s", name)
		}
		for _, f := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllStringSubmatch(section(help(t, name), "Flags:"), -1) {
			if f[1] != "--help" && !strings.Contains(reference, f[1]) {
				t.Errorf("docs/reference/cli.md does not name the flag %s of %s", f[1], name)
			}
		}
	}
}

func help(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, append(command, "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v --help: %v\n%s", command, err, out)
	}
	return string(out)
}

// section gives what follows a title, up to the next empty line or the end.
func section(text, title string) string {
	_, after, _ := strings.Cut(text, title+"\n")
	part, _, _ := strings.Cut(after, "\n\n")
	return part
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package sqlite

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// A test that needs another process runs this binary again in a role, with arguments in the environment.
const roleVariable = "SQLITE_TEST_ROLE"

var roles = map[string]func(path string) error{}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	if err := role(os.Getenv("SQLITE_TEST_PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// inRole gives a command that plays a role on the file at path. Its standard input ends with the test.
func inRole(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role, "SQLITE_TEST_PATH="+path), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Oldest is the oldest major version of PostgreSQL that Millrace works on.
const Oldest = 15

// Variable is the environment variable that says whether a test may do without PostgreSQL: Required has it fail. Binaries is
// the one that names the folder of PostgreSQL's programs, in place of those that are looked for.
const (
	Variable = "MILLRACE_TEST_POSTGRES"
	Required = "require"
	Binaries = "MILLRACE_TEST_POSTGRES_BIN"
)

var errNone = fmt.Errorf("no PostgreSQL %d or newer in PATH or /usr/lib/postgresql", Oldest)

// lack ends a test for which something is not there: it fails when the environment requires it, and is skipped otherwise.
func lack(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv(Variable) == Required {
		tb.Fatalf("%v (%s=%s)", err, Variable, Required)
	}
	tb.Skipf("%v: install postgresql and pgbouncer, or run make test", err)
}

// folders are where PostgreSQL's programs may lie, besides PATH.
var folders = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
}

// findBinaries gives the folder of initdb and postgres: the one that is named, else that of PATH, else the newest version's.
// A named one that cannot be used is an error of its own, which no test may pass over.
func findBinaries(ctx context.Context) (string, error) {
	if named := os.Getenv(Binaries); named != "" {
		if !usable(ctx, named) {
			return "", fmt.Errorf("%s=%s holds no initdb and postgres of version %d or newer", Binaries, named, Oldest)
		}
		return named, nil
	}
	var found []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(target))
		}
	}
	var others []string
	for _, pattern := range folders {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		others = append(others, matches...)
	}
	slices.SortFunc(others, func(a, b string) int { return versionIn(b) - versionIn(a) })
	for _, folder := range append(found, others...) {
		if usable(ctx, folder) {
			return folder, nil
		}
	}
	return "", errNone
}

var digits = regexp.MustCompile(`[0-9]+`)

func versionIn(text string) int {
	n, err := strconv.Atoi(digits.FindString(text))
	if err != nil {
		return 0
	}
	return n
}

func usable(ctx context.Context, folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output() //nolint:gosec // found above
	return err == nil && versionIn(string(out)) >= Oldest
}

// findPooler gives the path of pgbouncer, which some systems keep from the PATH of users.
func findPooler() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no pgbouncer in PATH or /usr/sbin")
}

// quoteIdentifier writes a name as SQL takes it.
func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

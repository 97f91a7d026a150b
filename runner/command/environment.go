package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// passed are the variables of this process that a program gets, beside LC_*. What else it needs stands in the step's env:
// tokens, data base addresses and proxies of the engine are no business of a step.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is the program's: the allow-list, over it the step's env, over that what Millrace says.
func (a *attempt) environment(dir string) (map[string]string, error) {
	given := a.Environ
	if given == nil {
		given = os.Environ()
	}
	env := map[string]string{"PATH": defaultPath}
	for _, pair := range given {
		name, value, ok := strings.Cut(pair, "=")
		if ok && (slices.Contains(passed, name) || strings.HasPrefix(name, "LC_")) {
			env[name] = value
		}
	}
	for name, value := range a.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, refuse(statusCannotRun, "env: %q cannot be the name of a variable: use letters, digits and _", name)
		}
		if strings.ContainsRune(value, 0) {
			return nil, refuse(statusCannotRun, "env: the value of %s has a NUL character, which no variable can hold", name)
		}
		env[name] = value
	}
	maps.Copy(env, map[string]string{
		"PWD":              dir,
		"MILLRACE_RUN_ID":  a.RunID,
		"MILLRACE_RUN_KEY": a.RunKey,
		"MILLRACE_STEP":    a.Step,
		"MILLRACE_ATTEMPT": strconv.Itoa(a.Attempt),
		"MILLRACE_KEY":     a.Key,
		"MILLRACE_OUTPUT":  a.file,
		"MILLRACE_SCRATCH": a.Scratch,
		"MILLRACE_REASON":  a.Reason,
	})
	return env, nil
}

// pairs gives env as the system wants it, in a fixed order.
func pairs(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, fmt.Sprintf("%s=%s", name, env[name]))
	}
	return list
}

package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs a script of the weather example as a step would, and gives its exit status and what it said on standard error.
func script(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = "weather"
	cmd.Env = append(os.Environ(), "MILLRACE_SCRATCH="+t.TempDir())
	var messages strings.Builder
	cmd.Stderr = &messages
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), messages.String()
}

func TestTheWeatherScriptsRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string) string {
		full := filepath.Join(folder, name)
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return full
	}
	columns := file("columns.csv", "day,rain\n2012-01-01,1.0\n")
	apart := file("apart.csv", "date,precipitation,temp_max,temp_min\n2012-01-01,0.0,1,0\n2012-02-01,0.0,1,0\n2012-01-02,0.0,1,0\n")
	for name, c := range map[string]struct {
		args   []string
		status int
		said   string
	}{
		"right totals":     {[]string{"./check.sh", "seattle-weather.csv", "1461", "623", "4426.0"}, 0, "4426.0 mm"},
		"wrong total":      {[]string{"./check.sh", "seattle-weather.csv", "1461", "623", "4426.1"}, 3, "4426.1 mm"},
		"wrong days":       {[]string{"./check.sh", "seattle-weather.csv", "1460", "623", "4426.0"}, 3, "1460 days"},
		"other columns":    {[]string{"./split.sh", columns}, 1, "the columns are not"},
		"months apart":     {[]string{"./split.sh", apart}, 1, "do not stand together"},
		"no file":          {[]string{"./split.sh", "absent.csv"}, 2, "absent.csv"},
		"chart of nothing": {[]string{"./chart.sh", filepath.Join(folder, "out")}, 1, "as many amounts as months"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, said := script(t, c.args...)
			if status != c.status || !strings.Contains(said, c.said) {
				t.Errorf("ended with %d, not %d, and said %q", status, c.status, said)
			}
		})
	}
}

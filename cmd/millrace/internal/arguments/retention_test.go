package arguments

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/machine"
)

const day = 24 * time.Hour

// K1
func TestAgesAreGivenForAllEndingsOrForOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags []string
		want  map[machine.Status]time.Duration
		wrong bool
	}{
		"none": {nil, nil, false},
		"all": {[]string{"30d"}, map[machine.Status]time.Duration{
			machine.Succeeded: 30 * day, machine.Failed: 30 * day, machine.Cancelled: 30 * day, machine.Aborted: 30 * day, machine.Dead: 30 * day,
		}, false},
		"one":          {[]string{"succeeded=90m"}, map[machine.Status]time.Duration{machine.Succeeded: 90 * time.Minute}, false},
		"the last one": {[]string{"dead=1d", "dead=2d"}, map[machine.Status]time.Duration{machine.Dead: 2 * day}, false},
		"no age":       {[]string{"soon"}, nil, true},
		"no ending":    {[]string{"running=1d"}, nil, true},
		"nothing":      {[]string{""}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Retention
			wrong := false
			for _, text := range c.flags {
				wrong = wrong || r.Set(text) != nil
			}
			if wrong != c.wrong {
				t.Errorf("wrong: %t", wrong)
			}
			if diff := cmp.Diff(c.want, r.Keep()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// K1
func TestOldRunsAreThoseOfTheEndingsThatAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags []string
		want  int
		than  time.Duration
		wrong bool
	}{
		"by default": {nil, 5, 30 * day, false},
		"two":        {[]string{"--status", "failed,dead", "--older-than", "1h"}, 2, time.Hour, false},
		"no ending":  {[]string{"--status", "parked"}, 0, 30 * day, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Old
			cmd := &cobra.Command{}
			o.Add(cmd, 30*day)
			if err := cmd.ParseFlags(c.flags); err != nil {
				t.Fatal(err)
			}
			keep, err := o.Keep()
			if (err != nil) != c.wrong || len(keep) != c.want || o.Than() != c.than {
				t.Errorf("%v after %s, %v", keep, o.Than(), err)
			}
		})
	}
}

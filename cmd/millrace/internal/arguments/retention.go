package arguments

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/workflow"
)

// Old is the flags that choose ended runs by age.
type Old struct {
	than   Duration
	status []string
}

// Add adds the flags; than is the age without one.
func (o *Old) Add(c *cobra.Command, than time.Duration) {
	o.than = Duration(than)
	c.Flags().Var(&o.than, "older-than", "only runs that ended so long ago, such as 90m or 30d")
	c.Flags().StringSliceVar(&o.status, "status", nil, "only runs that ended so, `STATUS,..`: "+strings.Join(endings, ", ")+" (default: all)")
}

// Keep gives how long runs are kept, by status.
func (o *Old) Keep() (map[machine.Status]time.Duration, error) {
	chosen := o.status
	if len(chosen) == 0 {
		chosen = endings
	}
	out := map[machine.Status]time.Duration{}
	for _, name := range chosen {
		status, err := ending(name)
		if err != nil {
			return nil, err
		}
		out[status] = time.Duration(o.than)
	}
	return out, nil
}

// Than gives the age.
func (o *Old) Than() time.Duration { return time.Duration(o.than) }

// ending reads the status of an ended run.
func ending(name string) (machine.Status, error) {
	if !slices.Contains(endings, name) {
		return "", mistake(suggest.DidYouMean(name, endings, "runs end "+strings.Join(endings, ", ")), "no run ends %q", name)
	}
	return machine.Status(name), nil
}

// Retention is a flag that says, again and again, how long runs are kept: AGE for all, STATUS=AGE for those that ended so.
type Retention struct {
	keep map[machine.Status]time.Duration
}

// Keep gives how long runs are kept, by status; nothing for those that are kept for ever.
func (r *Retention) Keep() map[machine.Status]time.Duration { return maps.Clone(r.keep) }

// String gives nothing: the flag has no default.
func (r *Retention) String() string { return "" }

// Type names what is expected.
func (r *Retention) Type() string { return "[STATUS=]AGE" }

// Set takes one more.
func (r *Retention) Set(text string) error {
	name, age, one := strings.Cut(text, "=")
	chosen := []string{name}
	if !one {
		chosen, age = endings, text
	}
	d, err := workflow.ParseDuration(age)
	if err != nil {
		return err
	}
	keep := maps.Clone(r.keep)
	if keep == nil {
		keep = map[machine.Status]time.Duration{}
	}
	for _, name := range chosen {
		status, err := ending(name)
		if err != nil {
			return err
		}
		keep[status] = d
	}
	r.keep = keep
	return nil
}

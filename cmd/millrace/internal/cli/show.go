package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
)

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return itoa(n) + " " + word + "s"
}

const aboutRun = `RUN is an id, the end of one (4 characters or more), WORKFLOW/KEY, or @last; left out, it is the newest run.`

func (a *app) showCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Tell how a run stands or how it ended",
		Long:  "Shows a run: its steps, what it waits for, why it failed, what it gave.\n\n" + aboutRun,
		Example: `  millrace show
  millrace show 5f3a --json
  millrace show order/2024-117`,
		Args: atMost(1, "usage: millrace show [RUN]"),
		RunE: func(c *cobra.Command, args []string) error {
			o := millrace.ShowOptions{}
			if all {
				o.Steps = -1
			}
			return a.show(c.Context(), strings.Join(args, ""), o)
		},
	}
	c.Flags().BoolVar(&all, "all-steps", false, "all steps, not only the first 200")
	return c
}

func (a *app) show(ctx context.Context, ref string, o millrace.ShowOptions) error {
	v, err := withClient(ctx, a, func(c *millrace.Client) (*millrace.View, error) {
		ctx, cancel := limited(ctx)
		defer cancel()
		id, err := c.Find(ctx, a.tenant, ref)
		if err != nil {
			return nil, err
		}
		return c.Show(ctx, a.tenant, id, o)
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.print(v)
	}
	items := screen.OpenItems
	if o.Steps < 0 {
		items = screen.AllItems
	}
	return writeText(a.out, page(v, items, time.Now(), columns(a.out), style(a.out)))
}

// page shows a run for people.
func page(v *millrace.View, items screen.Items, now time.Time, width int, s screen.Style) string {
	var b strings.Builder
	f := screen.Frame{View: v, Now: now, Width: min(width, 200), Style: s, Items: items}
	for _, line := range f.Lines() {
		b.WriteString(line + "\n")
	}
	if v.StepsLeft > 0 {
		fmt.Fprintf(&b, "  %s left out: --all-steps shows them\n", plural(v.StepsLeft, "step"))
	}
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, screen.Cut(value, max(width-11, 20)))
		}
	}
	b.WriteString("\n")
	field("id", v.ID)
	field("key", v.Key)
	field("home", strings.TrimPrefix(v.Home, keptPrefix))
	field("labels", labelText(v.Labels))
	field("created", v.CreatedAt.In(now.Location()).Format(time.RFC3339))
	if v.FinishedAt != nil {
		field("finished", v.FinishedAt.In(now.Location()).Format(time.RFC3339))
	}
	field("input", compact(v.Input))
	for _, w := range v.Waiting {
		field("waits for", waiting(w, now))
	}
	if v.Error != nil {
		writeError(&b, v.Error, width)
	}
	for _, l := range v.Letters {
		field("letter", fmt.Sprintf("%d %s %s", l.ID, l.Kind, l.Path))
	}
	field("output", compact(v.Output))
	return b.String()
}

// labelText gives labels as they are written on the command line.
func labelText(labels map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, name+"="+screen.Clean(labels[name]))
	}
	return strings.Join(out, " ")
}

func waiting(w millrace.WaitView, now time.Time) string {
	text := w.For + ": " + orElse(w.Path, "its start")
	if w.Until != nil {
		text += ", " + screen.Span(w.Until.Sub(now)) + " to go"
	}
	if w.Since != nil {
		text += ", since " + screen.Span(now.Sub(*w.Since))
	}
	if w.Needs != "" {
		text += "; needs " + w.Needs
	}
	return text
}

// writeError writes where, what and how often, the message as it came, and what helps.
func writeError(b *strings.Builder, e *millrace.ErrorView, width int) {
	head := e.Code
	if e.Path != "" {
		head += " at " + e.Path
	}
	if e.Attempt > 1 {
		head += ", attempt " + itoa(e.Attempt)
	}
	fmt.Fprintf(b, "%-10s %s\n", "error", screen.Clean(head))
	for line := range strings.Lines(e.Message) {
		fmt.Fprintf(b, "%-10s %s\n", "", screen.Cut(screen.Plain(strings.TrimRight(line, "\n")), max(width-11, 20)))
	}
	name := "hint"
	for _, line := range screen.Wrap(e.Hint, max(min(width, maxProse)-11, 20)) {
		if e.Hint != "" {
			fmt.Fprintf(b, "%-10s %s\n", name, line)
		}
		name = ""
	}
}

// maxProse is how wide words for people run.
const maxProse = 120

func compact(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // what a store keeps is JSON
		return string(raw)
	}
	return b.String()
}

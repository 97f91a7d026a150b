package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/execute"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/cmd/millrace/internal/voices"
	"github.com/millrace-go/millrace/machine"
)

type logsFlags struct {
	attempt int
	failed  bool
	follow  bool
}

func (a *app) logsCommand() *cobra.Command {
	var f logsFlags
	c := &cobra.Command{
		Use:   "logs [RUN] [STEP]",
		Short: "Print what the attempts of a run said",
		Long: `Prints what the programs of a run wrote on standard error (and on standard output, where that is not the step's
output), attempt by attempt, in the order in which they ended; then what the running ones have said so far. STEP is
the path of a step; those inside it are printed too. With -f it goes on, line by line, until the run has ended.

The journal keeps the last 4 KiB of each attempt; longer logs lie in files beside the database.

` + aboutRun,
		Example: `  millrace logs
  millrace logs @last pack
  millrace logs 5f3a 'lines[3]' --attempt 2
  millrace logs --failed
  millrace logs -f`,
		Args: atMost(2, "usage: millrace logs [RUN] [STEP]"),
		RunE: func(c *cobra.Command, args []string) error {
			ref, step := "", ""
			if len(args) > 0 {
				ref = args[0]
			}
			if len(args) > 1 {
				step = args[1]
			}
			return a.logs(c.Context(), ref, step, f)
		},
	}
	c.Flags().IntVar(&f.attempt, "attempt", 0, "only attempts with this number, `N`")
	c.Flags().BoolVar(&f.failed, "failed", false, "only attempts that failed")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until the run has ended")
	return c
}

func (a *app) logs(ctx context.Context, ref, step string, f logsFlags) error {
	st, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // it was only read
	client := millrace.NewClient(st)
	find, cancel := limited(ctx)
	defer cancel()
	id, err := client.Find(find, a.tenant, ref)
	if err != nil {
		return err
	}
	folder := db.logs()
	l := &logs{
		app: a, flags: f, step: step, id: id, client: client, folder: folder,
		follower: client.Follow(a.tenant, id), room: voices.New(folder, id),
	}
	if err := l.tell(ctx); err != nil {
		return err
	}
	return l.conclude()
}

// logs prints the logs of one run.
type logs struct {
	*app
	flags    logsFlags
	step     string
	id       string
	client   *millrace.Client
	folder   *logfile.Folder
	follower *millrace.Follower
	room     *voices.Room
	after    int64 // entries of the journal that were read
	printed  int
	silent   int           // attempts that said nothing
	attempts []attemptText // with --json
	steps    []string      // paths that there are
}

// attemptText is what one attempt said, as `logs --json` gives it.
type attemptText struct {
	Path    string     `json:"path"`
	Attempt int        `json:"attempt"`
	Status  string     `json:"status"` // running, succeeded, failed, lost, stopped, interrupted
	Code    *string    `json:"code"`
	EndedAt *time.Time `json:"ended_at"`
	Log     string     `json:"log"`
	Whole   bool       `json:"whole"` // false: only the end of it was kept
}

func (l *logs) tell(ctx context.Context) error {
	for {
		v, err := l.view(ctx)
		if err != nil {
			return err
		}
		if err := l.ended(ctx, v.Seq); err != nil {
			return err
		}
		if !l.flags.follow {
			return l.running(v)
		}
		if !l.flags.failed { // which of those that run will fail, nobody knows
			if err := l.room.Listen(v, l.line); err != nil {
				return err
			}
		}
		if v.Status.Ended() {
			return l.room.Close()
		}
		<-time.After(followEvery)
	}
}

func (l *logs) view(ctx context.Context) (*millrace.View, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	v, err := l.follower.View(ctx, millrace.ShowOptions{Live: true, Steps: -1})
	if err != nil {
		return nil, err
	}
	l.steps = l.steps[:0]
	for _, s := range v.Steps {
		l.steps = append(l.steps, s.Path)
	}
	return v, nil
}

// ended prints the attempts that have ended since it was last called, up to the entry until.
func (l *logs) ended(ctx context.Context, until int64) error {
	for l.after < until {
		entries, err := l.page(ctx)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			l.after = e.Seq
			t, ok := endedAttempt(e)
			if !ok || !l.wanted(t) {
				continue
			}
			if err := l.attempt(t, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logs) page(ctx context.Context) ([]millrace.JournalEntry, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return l.client.Journal(ctx, l.tenant, l.id, l.after, journalPage)
}

// ends are the entries of the journal that end an attempt, and what `logs` calls them.
var ends = map[machine.EventKind]string{
	machine.TaskSucceeded: "succeeded", machine.TaskFailed: "failed", machine.TaskLost: "lost",
	machine.TaskStopped: "stopped", machine.TaskReleased: "interrupted",
}

func endedAttempt(e millrace.JournalEntry) (attemptText, bool) {
	status, ok := ends[e.Kind]
	if !ok || e.Attempt == 0 {
		return attemptText{}, false
	}
	t := attemptText{Path: e.Path, Attempt: e.Attempt, Status: status, EndedAt: &e.At}
	if status == "failed" {
		if failure := millrace.ErrorOf(e.Payload); failure != nil {
			t.Code = &failure.Code
		}
	}
	return t, true
}

func (l *logs) wanted(t attemptText) bool {
	return l.inside(t.Path) && (l.flags.attempt == 0 || t.Attempt == l.flags.attempt) &&
		(!l.flags.failed || t.Status == "failed" || t.Status == "lost")
}

// inside says whether a path is that of the step asked for, or lies inside it.
func (l *logs) inside(path string) bool {
	rest, ok := strings.CutPrefix(path, l.step)
	return ok && (l.step == "" || rest == "" || strings.ContainsAny(rest[:1], "/[#~"))
}

// attempt prints what an attempt that has ended said: from its file if it left one, else from the journal.
func (l *logs) attempt(t attemptText, e millrace.JournalEntry) error {
	kept := millrace.FactsOf(e.Facts).Log
	t.Log, t.Whole = kept, len(kept) < execute.JournalBytes
	text, found, err := l.folder.Read(l.id, t.Path, t.Attempt)
	if err != nil {
		return err
	}
	if found {
		t.Log, t.Whole = text, true
	}
	told, err := l.room.Leave(voices.Voice{Path: t.Path, Attempt: t.Attempt}) // its lines were printed as they came
	if err != nil {
		return err
	}
	t.Log = t.Log[min(told, len(t.Log)):]
	return l.show(t)
}

// running prints what the attempts under way have said so far.
func (l *logs) running(v *millrace.View) error {
	for _, s := range v.Steps {
		t := attemptText{Path: s.Path, Attempt: s.Attempts, Status: "running", Whole: true}
		if s.AttemptAt == nil || !l.wanted(t) {
			continue
		}
		var err error
		if t.Log, _, err = l.folder.Read(l.id, t.Path, t.Attempt); err != nil {
			return err
		}
		if err := l.show(t); err != nil {
			return err
		}
	}
	return nil
}

// show prints one attempt, if there is anything to say.
func (l *logs) show(t attemptText) error {
	failed := t.Status == "failed" || t.Status == "lost"
	switch {
	case l.flags.follow:
		for line := range strings.Lines(t.Log) {
			l.line(voices.Voice{Path: t.Path, Attempt: t.Attempt}, strings.TrimRight(line, "\n"))
		}
		if failed {
			l.line(voices.Voice{Path: t.Path, Attempt: t.Attempt}, "["+t.title()+"]")
		}
		return nil
	case l.json:
		l.attempts = append(l.attempts, t)
		return nil
	case t.Log == "" && !failed:
		l.silent++
		return nil
	}
	l.printed++
	return writeText(l.out, l.text(t))
}

// text gives one attempt for people.
func (l *logs) text(t attemptText) string {
	var b strings.Builder
	if l.printed > 1 {
		b.WriteString("\n")
	}
	head := fmt.Sprintf("== %s, attempt %d: %s", t.Path, t.Attempt, t.title())
	b.WriteString(style(l.out).Heading(screen.Clean(head)) + "\n")
	if !t.Whole {
		b.WriteString("[the beginning was not kept]\n")
	}
	for line := range strings.Lines(t.Log) {
		b.WriteString(screen.Plain(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func (t attemptText) title() string {
	if t.Code != nil {
		return t.Status + " (" + *t.Code + ")"
	}
	return t.Status
}

// line prints one line while the run is followed.
func (l *logs) line(from voices.Voice, text string) {
	if !l.inside(from.Path) || l.flags.attempt != 0 && l.flags.attempt != from.Attempt {
		return
	}
	l.printed++
	if l.json {
		_ = l.printLine(map[string]any{"path": from.Path, "attempt": from.Attempt, "line": text}) // a closed pipe is nobody's fault
		return
	}
	_ = writeText(l.out, from.Path+" | "+screen.Plain(text)+"\n")
}

// conclude says why nothing was printed.
func (l *logs) conclude() error {
	switch {
	case l.json && !l.flags.follow:
		if l.attempts == nil {
			l.attempts = []attemptText{}
		}
		return l.print(map[string]any{"run": l.id, "attempts": l.attempts})
	case l.printed > 0 || l.json:
		return nil
	case l.silent > 0:
		l.say("%s said nothing", plural(l.silent, "attempt"))
	case l.step != "":
		l.say("no attempt of %s is there; %s", l.step, suggest.DidYouMean(l.step, l.steps, "`millrace show "+screen.Ending(l.id)+"` lists the steps"))
	default:
		l.say("no attempt has ended or runs; `millrace show %s` tells how the run stands", screen.Ending(l.id))
	}
	return nil
}

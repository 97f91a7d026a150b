// Package said prints what the attempts of a run said, from the files beside the database and from the journal.
//
// Nouns: a [Choice] is which attempts are meant; a [Printer] prints them.
//
// It imports the root package for journals and views, and its siblings for files and pictures.
package said

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/execute"
	"github.com/millrace-go/millrace/cmd/millrace/internal/logfile"
	"github.com/millrace-go/millrace/cmd/millrace/internal/patient"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/suggest"
	"github.com/millrace-go/millrace/cmd/millrace/internal/voices"
	"github.com/millrace-go/millrace/machine"
)

const (
	journalPage = 500
	followEvery = 200 * time.Millisecond
)

// Choice is which attempts are meant.
type Choice struct {
	Run     string // its id
	Step    string // the path of a step, with all inside it; empty: every one
	Attempt int    // only those with this number; 0: every one
	Failed  bool   // only those that failed
	Follow  bool   // go on until the run has ended
	// Patience is how long it goes on when the database cannot be used.
	Patience time.Duration
}

// Printer prints what attempts said.
type Printer struct {
	desk.Desk
	Folder *logfile.Folder
}

// Attempts prints what the attempts of a run said. It blocks until that is all.
func (p *Printer) Attempts(ctx context.Context, c Choice) error {
	l := &logs{Printer: p, Choice: c, follower: p.Client.Follow(p.Tenant, c.Run), room: voices.New(p.Folder, c.Run), told: map[voices.Voice]int{}}
	if err := l.tell(ctx); err != nil {
		return err
	}
	return l.conclude()
}

// logs prints the logs of one run.
type logs struct {
	*Printer
	Choice
	follower *millrace.Follower
	room     *voices.Room
	after    int64 // entries of the journal that were read
	printed  int
	silent   int           // attempts that said nothing
	attempts []attemptText // with --json
	steps    []string      // paths that there are

	told map[voices.Voice]int // with Follow: the bytes of its log that were told of an attempt that ended without an outcome
}

// attemptText is what one attempt said, as `logs --json` gives it.
type attemptText struct {
	Path    string     `json:"path"`
	Attempt int        `json:"attempt"`
	Status  string     `json:"status"` // running, succeeded, failed, lost, stopped, interrupted, late
	Code    *string    `json:"code"`
	EndedAt *time.Time `json:"ended_at"`
	Log     string     `json:"log"`
	Whole   bool       `json:"whole"` // false: only the end of it was kept

	late string // what a late outcome says: machine.LateSuccess or machine.LateFailure; else empty
}

func (l *logs) tell(ctx context.Context) error {
	if !l.Follow {
		v, err := l.look(ctx)
		if err != nil {
			return err
		}
		return l.running(v)
	}
	trouble := patient.Wait{For: l.Patience, Tell: func(note string) { l.Say("%s", note) }}
	for {
		v, err := l.look(ctx)
		if err = trouble.Bear(err); err != nil {
			return err
		}
		if v != nil && v.Status.Ended() {
			return l.room.Close()
		}
		<-time.After(followEvery)
	}
}

// look prints what the attempts said that have ended, and, of a run that is followed, what the others say.
func (l *logs) look(ctx context.Context) (*millrace.View, error) {
	v, err := l.view(ctx)
	if err == nil {
		err = l.ended(ctx, v.Seq)
	}
	if err == nil && l.Follow && !l.Failed { // which of those that run will fail, nobody knows
		err = l.room.Listen(v, l.line)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (l *logs) view(ctx context.Context) (*millrace.View, error) {
	ctx, cancel := desk.Limited(ctx)
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
	later := lateness{until: until}
	for l.after < until {
		entries, err := l.page(ctx, l.after)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			l.after = e.Seq
			t, ok := endedAttempt(e)
			if !ok || !l.wanted(t) {
				continue
			}
			fromFile := true
			if t.open() { // the file goes with the outcome, if that is there
				if fromFile, err = later.none(t, e.Seq, func(after int64) ([]millrace.JournalEntry, error) { return l.page(ctx, after) }); err != nil {
					return err
				}
			}
			if err := l.attempt(t, e, fromFile); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logs) page(ctx context.Context, after int64) ([]millrace.JournalEntry, error) {
	ctx, cancel := desk.Limited(ctx)
	defer cancel()
	return l.Client.Journal(ctx, l.Tenant, l.Run, after, journalPage)
}

// ends are the entries of the journal that end an attempt, and what `logs` calls them.
var ends = map[machine.EventKind]string{
	machine.TaskSucceeded: "succeeded", machine.TaskFailed: "failed", machine.TaskLost: "lost",
	machine.TaskStopped: "stopped", machine.TaskReleased: "interrupted", machine.TaskLate: "late",
}

func endedAttempt(e millrace.JournalEntry) (attemptText, bool) {
	status, ok := ends[e.Kind]
	if !ok || e.Attempt == 0 {
		return attemptText{}, false
	}
	t := attemptText{Path: e.Path, Attempt: e.Attempt, Status: status, EndedAt: &e.At}
	if e.Kind == machine.TaskLate {
		t.late = e.Name
	}
	if t.threw() {
		if failure := millrace.ErrorOf(e.Payload); failure != nil {
			t.Code = &failure.Code
		}
	}
	return t, true
}

// threw says whether the handler itself failed.
func (t attemptText) threw() bool { return t.Status == "failed" || t.late == machine.LateFailure }

// failed says whether `--failed` means this one.
func (t attemptText) failed() bool { return t.threw() || t.Status == "lost" }

// open says whether the outcome of the attempt may yet come, too late.
func (t attemptText) open() bool {
	return t.Status == "lost" || t.Status == "stopped" || t.Status == "interrupted"
}

func (l *logs) wanted(t attemptText) bool {
	return l.inside(t.Path) && (l.Attempt == 0 || t.Attempt == l.Attempt) &&
		(!l.Failed || t.failed())
}

// inside says whether a path is that of the step asked for, or lies inside it.
func (l *logs) inside(path string) bool {
	rest, ok := strings.CutPrefix(path, l.Step)
	return ok && (l.Step == "" || rest == "" || strings.ContainsAny(rest[:1], "/[#~"))
}

// attempt prints what an attempt that has ended said: from its file if it left one and that is wanted, else from the journal.
func (l *logs) attempt(t attemptText, e millrace.JournalEntry, fromFile bool) error {
	kept := millrace.FactsOf(e.Facts).Log
	t.Log, t.Whole = kept, len(kept) < execute.JournalBytes
	if fromFile {
		text, found, err := l.Folder.Read(l.Run, t.Path, t.Attempt)
		if err != nil {
			return err
		}
		if found {
			t.Log, t.Whole = text, true
		}
	}
	voice := voices.Voice{Path: t.Path, Attempt: t.Attempt}
	told, err := l.room.Leave(voice) // its lines were printed as they came
	if err != nil {
		return err
	}
	told = max(told, l.told[voice])
	if l.Follow && t.open() {
		l.told[voice] = max(told, len(t.Log))
	}
	t.Log = t.Log[min(told, len(t.Log)):]
	return l.show(t)
}

// running prints what the attempts under way have said so far.
func (l *logs) running(v *millrace.View) error {
	for _, voice := range voices.Of(v) {
		t := attemptText{Path: voice.Path, Attempt: voice.Attempt, Status: "running", Whole: true}
		if !l.wanted(t) {
			continue
		}
		var err error
		if t.Log, _, err = l.Folder.Read(l.Run, t.Path, t.Attempt); err != nil {
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
	telling := t.failed() || t.late != "" // worth a line even of one that said nothing
	switch {
	case l.Follow:
		for line := range strings.Lines(t.Log) {
			l.line(voices.Voice{Path: t.Path, Attempt: t.Attempt}, strings.TrimRight(line, "\n"))
		}
		if telling {
			l.line(voices.Voice{Path: t.Path, Attempt: t.Attempt}, "["+t.title()+"]")
		}
		if t.Log == "" && !telling {
			l.silent++
		}
		return nil
	case l.JSON:
		l.attempts = append(l.attempts, t)
		return nil
	case t.Log == "" && !telling:
		l.silent++
		return nil
	}
	l.printed++
	return l.Write(l.text(t))
}

// text gives one attempt for people.
func (l *logs) text(t attemptText) string {
	var b strings.Builder
	if l.printed > 1 {
		b.WriteString("\n")
	}
	head := fmt.Sprintf("== %s, attempt %d: %s", t.Path, t.Attempt, t.title())
	b.WriteString(l.Style.Heading(screen.Clean(head)) + "\n")
	if !t.Whole {
		b.WriteString("[the beginning was not kept]\n")
	}
	for line := range strings.Lines(t.Log) {
		b.WriteString(screen.Plain(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func (t attemptText) title() string {
	status := t.Status
	if t.late != "" {
		status = t.late + ", too late"
	}
	if t.Code != nil {
		return status + " (" + *t.Code + ")"
	}
	return status
}

// line prints one line while the run is followed.
func (l *logs) line(from voices.Voice, text string) {
	if !l.inside(from.Path) || l.Attempt != 0 && l.Attempt != from.Attempt {
		return
	}
	l.printed++
	if l.JSON {
		_ = l.PrintLine(map[string]any{"path": from.Path, "attempt": from.Attempt, "line": text}) // a closed pipe is nobody's fault
		return
	}
	_ = l.Write(from.Path + " | " + screen.Plain(text) + "\n")
}

// conclude says why nothing was printed.
func (l *logs) conclude() error {
	switch {
	case l.JSON && !l.Follow:
		if l.attempts == nil {
			l.attempts = []attemptText{}
		}
		return l.Print(map[string]any{"run": l.Run, "attempts": l.attempts})
	case l.printed > 0 || l.JSON:
		return nil
	case l.silent > 0:
		l.Say("%s said nothing", screen.Plural(l.silent, "attempt"))
	case l.Step != "":
		l.Say("no attempt of %s is there; %s", l.Step, suggest.DidYouMean(l.Step, l.steps, "`millrace show "+screen.Ending(l.Run)+"` lists the steps"))
	default:
		l.Say("no attempt has ended or runs; `millrace show %s` tells how the run stands", screen.Ending(l.Run))
	}
	return nil
}

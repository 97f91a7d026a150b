// Package cli is the command line: arguments in, calls of the engine and the client, documents and tables out.
//
// Nouns: an [app] is one call of the program; a status is how it exits; a failure is an error as people and programs see it.
// Data goes to standard output, everything else to standard error. This is the only place that names concrete stores and
// executors, so it may import everything of the module.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/millrace-go/millrace/cmd/millrace/internal/desk"
	"github.com/millrace-go/millrace/cmd/millrace/internal/orders"
	"github.com/millrace-go/millrace/cmd/millrace/internal/reading"
	"github.com/millrace-go/millrace/cmd/millrace/internal/screen"
	"github.com/millrace-go/millrace/cmd/millrace/internal/upkeep"
)

// The exit statuses of the command line's contract.
const (
	statusDone        = 0
	statusEnded       = 1   // the run ended otherwise than succeeded
	statusUsage       = 2   // wrong usage, file or input
	statusWaiting     = 3   // only a person or an event can help
	statusRefused     = 4   // no such run, conflict, already ended
	statusStore       = 5   // the store cannot be reached or is broken
	statusTimeout     = 124 // --timeout passed
	statusInterrupted = 130
)

// app is one call of the program.
type app struct {
	in       *os.File
	out, err *os.File
	json     bool
	db       string
	listenDB string // where hints are heard
	tenant   string
	status   int
	// interrupts are Ctrl-C and its like while a run is driven; before, they end the program at once.
	interrupts chan os.Signal
	driving    atomic.Bool
}

// Main carries out one command line and gives the exit status.
func Main(args []string) int {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, interrupts: make(chan os.Signal, 4)}
	go a.listen()
	root := a.root()
	root.SetArgs(args)
	a.json = slices.Contains(args, "--json") // mistakes in the flags are told as a document too
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(context.Background())
	}
	if err != nil {
		return a.report(err)
	}
	return a.status
}

// listen takes interrupts for as long as the program lives.
func (a *app) listen() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	for s := range signals {
		if !a.driving.Load() {
			os.Exit(statusInterrupted)
		}
		a.interrupts <- s
	}
}

// Commands gives the commands with their help, for a page on them.
func Commands() *cobra.Command {
	return (&app{in: os.Stdin, out: os.Stdout, err: os.Stderr}).root()
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "millrace",
		Short: "Durable workflows from files: a run survives crashes, restarts and retries",
		Long: `Millrace runs workflows that are written in YAML or JSON. Every step that has ended is kept in a
database; a run that was interrupted, even by kill -9, goes on where it was.`,
		Example: `  millrace init                           write a first workflow, to try and to change
  millrace run hello.yaml -i name=Ada     run a workflow to its end, here
  millrace resume                         go on with the newest run
  millrace show @last                     how it stands or how it ended
  millrace logs                           what its steps said
  millrace journal 5f3a                   all that happened to the run whose id ends in 5f3a
  millrace cancel 5f3a                    stop it, and undo what it did
  millrace dead                           failures that wait for a person
  millrace worker                         execute what others start with: millrace start FILE`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().NFlag() > 0 {
				return usage("`millrace --help` lists what there is", "name a command")
			}
			return c.Help()
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print one JSON document instead of text")
	f.StringVar(&a.db, "db", "", // help shows defaults, and this one may hold a password
		"the database, `sqlite:PATH` or postgres://... (default $MILLRACE_DB, else .millrace/millrace.db here or in a folder above)")
	f.StringVar(&a.listenDB, "listen-db", "", // no default, for the same reason
		"hear of what others do at this `URL` of the same database, past a pooler (default $MILLRACE_LISTEN_DB, else the database's own)")
	f.StringVar(&a.tenant, "tenant", orElse(os.Getenv("MILLRACE_TENANT"), "default"), "the `NAME` of the tenant whose workflows and runs are meant")
	root.AddCommand(
		a.initCommand(), a.runCommand(), a.resumeCommand(), a.startCommand(), a.workerCommand(), a.watchCommand(),
		reading.Runs(a.list), reading.Show(a.read), reading.Logs(a.read), reading.Journal(a.read), reading.Queues(a.list), reading.Workflows(a.list),
		orders.Cancel(a.atDesk), orders.Abort(a.atDesk), orders.Pause(a.atDesk), orders.Retry(a.atDesk), orders.Dead(a.atDesk, a.atList),
		orders.Doctor(a.atDesk), orders.Prune(a.atList, a.forgetRuns), upkeep.Migrate(a.atTables),
		a.validateCommand(), a.graphCommand(), a.registerCommand(), a.schemaCommand(), a.versionCommand(),
	)
	a.complete(root)
	return root
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// print writes one JSON document to standard output.
func (a *app) print(doc any) error { return desk.Encode(a.out, doc) }

// say writes a line for people to standard error.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// quiet gives a logger that says nothing: what matters is told by the command itself.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// style is what a file can show: colours on a terminal unless NO_COLOR is set, more than ASCII unless the locale says no.
func style(f *os.File) screen.Style {
	return screen.Style{
		Color: isTerminal(f) && os.Getenv("NO_COLOR") == "",
		ASCII: asciiLocale(),
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" }

func asciiLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// size gives columns and rows of the terminal f.
func size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80, 24
	}
	return width, height
}

// columns is how wide tables may be: as the terminal is, and without bound in a pipe.
func columns(f *os.File) int {
	if !isTerminal(f) {
		return 1 << 20
	}
	w, _ := size(f)
	return w
}

// writeText writes s to w; that standard output was closed is nobody's fault here.
func writeText(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

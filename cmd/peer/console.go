package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/score"
	"gossiptrainer/lab/views"
)

// The rules of the terminal:
//
//   - Results go to standard output, messages go to standard error. With --json a
//     result is one JSON object and nothing else is on standard output.
//   - Errors begin with "peer: ", are lower case without a final period, and say
//     what, where and why. Advice has a line of its own that begins with "hint: ", and
//     "see: " names the section of docs/troubleshooting.md.
//   - A command with a useful next step ends with "next: " and a command that works.
//   - Escape codes are written only to a terminal that knows them, and colours
//     only if NO_COLOR is not set.
//   - -q prints only errors, -v adds the logs of the peers, and -v -v those of libraries.
//   - Where the locale is not UTF-8, our signs are written in ASCII: see output.
//     JSON, run files and scripts for shells are UTF-8 everywhere.

// A console is where a command talks to its user.
type console struct {
	in       *os.File
	out, err *screen.Output

	json    bool
	quiet   bool
	verbose int

	resort    *screen.Resort
	job       *screen.Job
	dash      *dashFlag
	libraries *libraries

	lost *atomic.Pointer[func() string] // describes the loss if the command is interrupted; points to nil: no loss
}

func newConsole() *console {
	return &console{in: os.Stdin, out: screen.NewOutput(os.Stdout), err: screen.NewOutput(os.Stderr),
		resort: new(screen.Resort), job: new(screen.Job), libraries: newLibraries(),
		lost: new(atomic.Pointer[func() string])}
}

// say writes one message to the user.
func (c *console) say(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.err, format+"\n", args...)
	}
}

// talk returns the writer of messages to the user.
func (c *console) talk() io.Writer {
	if c.quiet {
		return io.Discard
	}
	return c.err
}

// next names a command for the next step.
func (c *console) next(command string, why string) {
	advice.Next(c.talk(), command, why)
}

// print writes a result: as JSON if asked for, otherwise by text.
func (c *console) print(result any, text func(w io.Writer) error) error {
	if !c.json {
		return text(c.out)
	}
	return c.printJSON(result)
}

// answer prints the result of a command, or returns the error that it ended with.
func (c *console) answer(result interface{ Write(io.Writer) error }, err error) error {
	if err != nil {
		return err
	}
	return c.print(result, result.Write)
}

func (c *console) printJSON(result any) error {
	out := json.NewEncoder(c.out.File) // JSON is UTF-8 everywhere
	out.SetEscapeHTML(false)
	return out.Encode(result)
}

// complain writes an error, its hint and the section that explains its exit code.
func (c *console) complain(err error) {
	f := complaintOf(err)
	fmt.Fprintln(c.err, f.text)
	for _, line := range f.context {
		fmt.Fprintln(c.err, "  | "+line)
	}
	if f.hint != "" {
		fmt.Fprintln(human.Folded(c.err, c.err.Width()), "hint: "+f.hint)
	}
	if f.see != "" {
		fmt.Fprintln(c.err, "see: "+f.see)
	}
}

// loses sets the description of the loss for an interruption from now on.
func (c *console) loses(describe func() string) { c.lost.Store(&describe) }

// breakOff says in one line that a command ends without cleaning up.
func (c *console) breakOff(err error) {
	if lost := c.lost.Load(); lost != nil {
		err = fmt.Errorf("%w, before it could clean up: %s", err, (*lost)())
	}
	c.complain(err)
}

// logger returns the logger of a node, whose lines go to w. Libraries log there from now on.
func (c *console) logger(w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case c.quiet:
		level = slog.LevelError
	case c.verbose == 1:
		level = slog.LevelInfo
	case c.verbose > 1:
		level = slog.LevelDebug
	}
	l := slog.New(advice.Pointing(tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !c.colours()})))
	c.libraries.to.Store(l)
	return l
}

// colours reports whether standard error may have colours.
func (c *console) colours() bool {
	return os.Getenv("NO_COLOR") == "" && c.escapes()
}

// escapes reports whether standard error is a terminal that understands escape codes.
func (c *console) escapes() bool {
	return os.Getenv("TERM") != "dumb" && term.IsTerminal(int(c.err.Fd()))
}

// addJSON adds the flag of commands that print results.
func (c *console) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "print the result as one JSON object")
}

// session starts the session of a run. The options say its mode, and where it resumes.
func (c *console) session(ctx context.Context, run *experiment.Run, o session.Options) (*session.Session, error) {
	o.Version = describe.ReadBuild().Version
	if err := c.openDash(); err != nil {
		return nil, err
	}
	display := func(run screen.Run) screen.Display {
		c.sayDash()
		return c.newDisplay(run)
	}
	o.Screen = session.Screen{Talk: c.talk(), Display: display, Logger: c.logger, Show: c.show}
	s, err := session.Start(ctx, run, o)
	if err != nil {
		return nil, err
	}
	return s, c.showDash(s.Folder.Dir)
}

// newDisplay returns the display of a running run.
func (c *console) newDisplay(run screen.Run) screen.Display {
	switch {
	case c.quiet:
		return screen.Silent(c.err)
	case screen.Interactive(c.in, c.err):
		table := screen.Terminal(c.in, c.err, run)
		c.job.Add(func(rest func()) { table.Suspend(); rest() })
		return table
	}
	return screen.Plain(c.err, run)
}

// watch keeps only the messages of the first of several runs: one is enough to watch.
func (c *console) watch(run int) {
	if run > 0 {
		c.quiet, c.dash = true, nil
	}
}

// summarize ends a successful run: it prints the summary below a table of the peers, and keeps it. The models are the
// final ones by rank, nil if they are not on this machine. It fails if workers trained by themselves.
func (c *console) summarize(s *session.Session, models score.Replicas, log []record.Membership) error {
	summary, finals, err := s.Summary(models)
	if err != nil {
		return err
	}
	if len(log) > 0 {
		summary.Losses = &record.Losses{Lost: []int{}, Views: len(log), Log: log}
	}
	explained := report.Explained{Summary: &summary, Sentences: s.Sentences()}
	err = c.print(explained, func(w io.Writer) error {
		if err := views.Write(w, log); err != nil {
			return err
		}
		if err := s.WriteFinals(w, finals, c.out.Width()); err != nil {
			return err
		}
		return explained.Urgent().Write(human.Folded(w, c.out.Width()))
	})
	if err := errors.Join(s.Keep(summary), err); err != nil { // it is kept even if the terminal is gone
		return err
	}
	if err := session.Together(summary); err != nil {
		return err
	}
	c.next(advice.Command("peer", "report", s.Folder.Dir, "-o", summary.Run+".png"), "draw the run")
	for _, step := range s.Next() {
		c.next(step.Command, step.Why)
	}
	return nil
}

// sayStopped says how to resume a stopped run. An interruption loses nothing more.
func (c *console) sayStopped(s *session.Session, again string) {
	c.lost.Store(nil)
	s.SayStopped(again)
}

// newProgress returns the progress of a task: in place on a terminal, else in lines, which do not go with JSON.
func (c *console) newProgress() *screen.TaskProgress {
	mode := screen.InLines
	switch {
	case c.quiet:
		mode = screen.Unseen
	case c.escapes():
		mode = screen.InPlace
	case c.json:
		mode = screen.Unseen
	}
	return screen.NewTaskProgress(c.err, mode)
}

// during does a task, and shows it while it lasts.
func during[T any](c *console, what string, do func(*screen.Task) (T, error)) (T, error) {
	task := c.newProgress().Begin(what)
	defer task.End()
	return do(task)
}

// show does a task that tells how far it is, and shows it while it lasts.
func (c *console) show(what string, do func(watch func(done, all int64)) error) error {
	task := c.newProgress().Begin(what)
	defer task.End()
	return do(task.Reach)
}

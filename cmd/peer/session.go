package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/inspect"
	"gossiptrainer/internal/app/live"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/topology"
)

// A session is a run as its user sees it: events go to the record, to the
// display and, the results, into the summary.
type session struct {
	c       *console
	run     *experiment.Run
	mode    string // run, lab or sim
	began   time.Time
	folder  *runfolder.Folder
	display live.Display
	saver   *runfolder.Saver

	mu     sync.Mutex
	last   []record.Step // by rank; Round 0 where there was none
	finals []record.Final
	edges  []record.Event
	watch  record.Watch

	history *record.History // of what real peers report
	record  []record.Event  // of earlier parts
	ends    *ending         // before its rounds are over; nil: never
}

// begin opens the record and the display of a run. The display closes with the
// session or as soon as ctx ends, so that whatever comes then finds the terminal
// as it was.
func (c *console) begin(ctx context.Context, run *experiment.Run, mode string) (*session, error) {
	return c.resume(ctx, run, mode, "")
}

// resume is begin for a run that goes on in its folder; "" is a new one.
func (c *console) resume(ctx context.Context, run *experiment.Run, mode, dir string) (*session, error) {
	err := run.FindData()
	if err == nil && mode != "run" {
		err = run.CheckTogether()
	}
	if err != nil {
		return nil, err
	}
	warning, err := checkRoom(run, mode)
	if err != nil && dir == "" { // one that goes on replaces what it has written
		return nil, err
	}
	s := &session{c: c, run: run, mode: mode, began: time.Now(), last: make([]record.Step, run.N()), watch: record.Watch{Dim: run.Dim(), Levels: run.Levels()}}
	if dir == "" {
		s.history = record.NewHistory(run.N(), nil)
		s.folder, err = runfolder.Make(run.Config(), s.began)
	} else {
		s.folder, err = s.goOn(dir)
	}
	if err != nil {
		return nil, err
	}
	c.warn(run)
	if warning != "" {
		c.say("warning: %s", warning)
	}
	c.say("run folder: %s", s.folder.Dir)
	shown := inspect.Live(run)
	if mode == "sim" {
		shown.Here = run.N()
	}
	if dir != "" {
		shown.From, _, _ = runfolder.SafeRounds(run.Config(), dir, run.N())
	}
	s.display = c.newDisplay(shown)
	context.AfterFunc(ctx, s.display.Close)
	s.saver = &runfolder.Saver{Log: c.logger(s.display), Stopped: ctx.Done()}
	return s, nil
}

// goOn opens the folder of a run that goes on, and reads what is in its record.
func (s *session) goOn(dir string) (*runfolder.Folder, error) {
	old, err := record.Open(dir)
	if err == nil {
		err = old.Within(runfolder.Limits(s.run))
	}
	if err != nil {
		return nil, err
	}
	s.record, s.history = old.Events, record.NewHistory(s.run.N(), old.Events)
	return runfolder.Open(s.run.Config(), dir)
}

// warn says what is likely to be a mistake in a run that can be done.
func (c *console) warn(run *experiment.Run) {
	for _, note := range run.Notes() {
		c.say("note: %s", note)
	}
	for _, warning := range run.Warnings() {
		c.say("warning: %s", warning)
	}
}

func (c *console) newDisplay(run live.Run) live.Display {
	switch {
	case c.quiet:
		return live.Silent(c.err)
	case live.Interactive(c.in, c.err):
		return live.Terminal(c.in, c.err, run)
	}
	return live.Plain(c.err, run)
}

// hear takes what the peer of this process reports, which counts from where the process
// has begun.
func (s *session) hear(e record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if joined, isNew := s.history.Join(e); isNew {
		s.enter(joined)
	}
}

// event takes an event of the whole run.
func (s *session) event(e record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(e)
}

func (s *session) enter(e record.Event) {
	if err := s.folder.Add(e); err != nil {
		fmt.Fprintf(s.display, "warning: the record stays in memory until the disk takes it: %v\n", err)
	}
	s.display.Event(e)
	if s.ends != nil {
		s.ends.see(e)
	}
	switch {
	case e.Step != nil && e.Step.Rank < len(s.last):
		s.last[e.Step.Rank] = *e.Step
		if warning := s.watch.See(*e.Step); warning != "" {
			fmt.Fprintf(s.display, "warning: %s\n", warning)
		}
	case e.Edge != nil:
		s.edges = append(s.edges, e)
	case e.Final != nil:
		s.finals = append(s.finals, *e.Final)
	}
}

// log shows a line that a peer logged.
func (s *session) log(rank int, line string) {
	fmt.Fprintf(s.display, "[%d] %s\n", rank, line)
}

// results returns the results heard so far, in rank order, and the last steps.
func (s *session) results() ([]record.Final, []record.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.finals, func(a, b record.Final) int { return a.Rank - b.Rank })
	return s.finals, slices.DeleteFunc(slices.Clone(s.last), func(step record.Step) bool { return step.Round == 0 })
}

// records returns what peers have put on record of edges: all peers, but on a LAN this
// peer alone.
func (s *session) records() []record.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.edges
}

// end closes display and record, whether the run went well or not.
func (s *session) end() {
	s.display.Close()
	s.folder.Close()
	if s.ends != nil {
		s.ends.close()
	}
	cfg := s.run.Config()
	if _, _, safe := runfolder.SafeRounds(cfg, s.folder.Dir, s.run.N()); !safe || cfg.Checkpoint.Dir != "" {
		s.abandon()
	}
}

// abandon removes the folder of a run that has not begun.
func (s *session) abandon() {
	s.folder.Close()
	if err := s.folder.Drop(); err != nil {
		s.c.say("warning: the run has not begun, and its folder stays: %v", err)
	}
}

// belong makes the run, and its folder, that of one peer.
func (s *session) belong(rank topology.Rank) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folder.Belong(int(rank))
}

// summarize ends a run that went well: it writes the summary and prints it below
// a table of the peers. models are the final ones by rank, nil where they are
// not at hand.
func (s *session) summarize(models [][]float32) error {
	finals, last := s.results()
	summary, err := s.run.Summarize(experiment.Results{
		Mode: s.mode, Finals: finals, Last: last, Models: models, Edges: s.records(),
		Wall: time.Since(s.began), Version: readBuild().Version, Ended: s.ended(), Watch: s.testing(record.Average),
	})
	s.display.Close()
	if err != nil {
		return err
	}
	err = s.c.print(summary, func(w io.Writer) error {
		if err := writeFinals(w, finals); err != nil {
			return err
		}
		return report.WriteSummary(w, &summary)
	})
	if err != nil {
		return err
	}
	space := runfolder.SpaceError{Dir: s.folder.Dir, Key: "output.dir", What: "the summary and the rest of the record", Need: s.folder.Pending()}
	if err := s.saver.Save(space, func() error { return s.folder.Finish(summary) }); err != nil {
		return err
	}
	s.c.next(advice.Command("peer", "report", s.folder.Dir, "-o", summary.Run+".png"), "draw the run")
	return nil
}

// writeFinals prints the result of every peer.
func writeFinals(w io.Writer, finals []record.Final) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PEER\tROUNDS\tTEST LOSS\tACCURACY\tSENT\tTIME\tDIGEST\t")
	for _, f := range finals {
		accuracy := "-"
		if v := record.Number(f.Accuracy); v != nil {
			accuracy = fmt.Sprintf("%.4f", *v)
		}
		fmt.Fprintf(t, "%d\t%d\t%.4f\t%s\t%s\t%.1f s\t%.8s\t\n",
			f.Rank, f.Rounds, f.Loss, accuracy, report.Size(f.Sent.Wire), f.Time.Seconds(), f.Digest)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

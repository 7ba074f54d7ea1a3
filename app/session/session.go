package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// Options configure a session.
type Options struct {
	Mode    string // run, lab or sim
	Dir     string // the folder of a resumed run; "": a new run
	Version string // of the program, for the summary
	Place   Place  // of the record at which a simulation resumes
	Screen  Screen
	Costs   cost.Costs // of a simulation, before it ends
	Cores   int        // that the workers of a simulation share; 0: each has its own
}

// A Screen is the output that the user of a run sees.
type Screen struct {
	Talk    io.Writer                       // gets messages to the user
	Display func(screen.Run) screen.Display // shows the run while it goes on
	Logger  func(w io.Writer) *slog.Logger  // logs into the display

	// Show does a part of the work without a display, and shows it; nil: it is done unseen.
	Show func(what string, do func(watch func(done, all int64)) error) error
}

// say writes one message to the user.
func (s Screen) say(format string, args ...any) { fmt.Fprintf(s.Talk, format+"\n", args...) }

// latest is what a session keeps of steps and scores.
type latest struct {
	last   []record.Step // of the members at the end; nil: those that told has
	parts  record.PartsSum
	scores []record.Score
	told   *explain.Record // for sentences
}

// A Session is a run as its user sees it: events go to the record, to the display and, the
// results, into the summary. Its methods may be called from several goroutines.
type Session struct {
	Options
	Run     *experiment.Run
	Folder  *runfolder.Folder
	Display screen.Display
	Saver   *runfolder.Saver
	History *record.History // of what real peers report; nil for a simulation
	began   time.Time

	mu sync.Mutex
	latest
	edges   []record.Event
	missed  []missed
	watch   record.Watch
	members Members // at the end

	record []record.Event // of the run before it resumed
	ends   *ending        // before its rounds are over; nil: never
}

// Start opens the record and the display of a run, in a new folder or in that of a resumed run. The display closes with
// the session or when ctx ends, so that later output finds the terminal as it was. Start refuses a run that lacks data
// or room. The caller must End the session.
func Start(ctx context.Context, run *experiment.Run, o Options) (*Session, error) {
	err := run.Data().Find()
	if err == nil && o.Mode != "run" {
		err = run.Data().CheckTogether()
	}
	if err != nil {
		return nil, err
	}
	tight := ""
	warning, err := CheckRoom(run, o.Mode)
	if err != nil && o.Dir == "" { // a resumed run replaces its old files
		return nil, err
	}
	s := &Session{
		Options: o, Run: run, began: time.Now(), latest: latest{told: explain.NewRecord(runfolder.Facts(run.Config()))},
		watch: record.Watch{Dim: run.Dim(), Levels: run.Modulo().Fixed()},
	}
	switch {
	case o.Dir == "":
		if o.Mode != "sim" {
			s.History = record.NewHistory(run.N(), nil)
		}
		s.Folder, err = runfolder.Make(run.Config(), s.began)
	case o.Mode == "sim":
		s.Folder, err = s.goBack(o.Dir)
	default:
		s.Folder, err = s.goOn(o.Dir)
	}
	if err != nil {
		return nil, err
	}
	Warnings(o.Screen.Talk, run)
	if o.Mode == "lab" {
		tight = crowded(run)
	}
	for _, w := range []string{warning, tight} {
		if w != "" {
			o.Screen.say("%s", advice.Warning(w))
		}
	}
	o.Screen.say("run folder: %s", s.Folder.Dir)
	if o.Mode == "sim" && o.Dir != "" {
		s.SayResumed()
	}
	shown := describe.Live(run)
	if o.Mode == "sim" {
		shown.Here = run.N()
	}
	if o.Dir != "" {
		shown.From, _, _ = s.safeRounds()
	}
	s.Display = o.Screen.Display(shown)
	context.AfterFunc(ctx, s.Display.Close)
	s.Saver = &runfolder.Saver{Log: o.Screen.Logger(s.Display), Stopped: ctx.Done()}
	if err := s.setAside(); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

// setAside sets room aside for the results that this process writes. A run that goes on may make room as it does.
func (s *Session) setAside() error {
	disk := forecast.Disk(s.Run, s.Mode)
	s.Folder.Leave(Least(s.Run, s.Mode))
	space := runfolder.SpaceError{
		Dir: s.Folder.Dir, Key: "output.dir", What: "the results", Need: results(disk),
	}
	switch s.Mode {
	case "lab": // each peer sets room aside for its own model
		space.Need -= disk.Of(budget.Model)
	case "sim": // peers do this for theirs
		s.Saver.GiveUp = func() { _ = checkpoint.Slim(runfolder.SimFolder(s.Run.Config(), s.Folder.Dir)) }
	}
	err := s.Saver.SetAside(space)
	if err != nil && s.Dir != "" {
		s.Warn(err.Error())
		return nil
	}
	return err
}

// Adopt goes on with the run on which the peers have agreed, before its first round.
func (s *Session) Adopt(run *experiment.Run) error {
	s.mu.Lock()
	s.Run = run
	s.mu.Unlock()
	s.Display.SetRounds(run.Config().Train.Rounds.Known())
	if err := s.Folder.Keep(run.Config()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	s.Saver.Release()
	warning, err := CheckRoom(run, s.Mode)
	if err != nil && s.Dir == "" {
		return err
	}
	if warning != "" {
		s.Warn(warning)
	}
	return s.setAside()
}

// config returns the configuration of the run, also while the run is adopted.
func (s *Session) config() configs.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Run.Config()
}

// Check prints the warnings of a run and describes it, with the memory of its peers.
func Check(talk io.Writer, run *experiment.Run) describe.Check {
	Warnings(talk, run)
	if crowded := crowded(run); crowded != "" {
		fmt.Fprintln(talk, advice.Warning(crowded))
	}
	return describe.CheckOf(run)
}

// Warnings prints the likely mistakes of a run that is legal.
func Warnings(talk io.Writer, run *experiment.Run) {
	for _, note := range run.Notes() {
		fmt.Fprintf(talk, "note: %s\n", note)
	}
	for _, warning := range run.Warnings() {
		fmt.Fprintln(talk, advice.Warning(warning))
	}
}

// EndAt ends the run as u says. Real peers resume the record, and the clock watches them.
func (s *Session) EndAt(u Until) {
	s.ends = &ending{Until: u, goal: goalOf(s.Run, s.Mode, u.Targets), over: make(chan struct{})}
	if s.Mode != "sim" {
		s.ends.follow(s.Run.N(), s.History.Trained())
	}
	if cfg := s.Run.Config(); cfg.External() {
		s.ends.untold = newUntold(u.Targets)
	}
	for _, e := range s.record {
		s.ends.note(e)
		s.ends.missing(e)
	}
}

// Over is closed when the run must end. It is nil for a run that ends with its rounds.
func (s *Session) Over() <-chan struct{} {
	if s.ends == nil {
		return nil
	}
	return s.ends.over
}

// Ending returns the ending for the simulator.
func (s *Session) Ending() sim.Ending { return s.ends.sim() }

// Simulated takes the virtual time that a finished run took.
func (s *Session) Simulated(took time.Duration) { s.ends.simulated(took) }

// goOn opens the folder of a resumed run, and reads its record.
func (s *Session) goOn(dir string) (*runfolder.Folder, error) {
	old, err := record.Open(dir)
	if err == nil {
		err = old.Within(runfolder.Limits(s.Run))
	}
	if err != nil {
		return nil, err
	}
	s.record, s.History = old.Events, record.NewHistory(s.Run.N(), old.Events)
	for _, e := range old.Events {
		s.told.See(e)
	}
	return runfolder.Open(s.Run.Config(), dir)
}

// Hear takes an event from the peer of this process, which counts from the start of the process.
func (s *Session) Hear(e record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if joined, isNew := s.History.Join(e); isNew {
		s.enter(joined)
	}
}

// Event takes an event of the whole run.
func (s *Session) Event(e record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(e)
}

// enter takes an event while the lock is held.
func (s *Session) enter(e record.Event) {
	if err := s.Folder.Add(e); err != nil {
		text := fmt.Sprintf("the record stays in memory until the disk takes it: %v", err)
		fmt.Fprintln(s.Display, advice.Warning(text))
	}
	s.Display.Event(e)
	if warning := s.remember(e); warning != "" {
		fmt.Fprintln(s.Display, advice.Warning(warning))
	}
	if s.ends != nil {
		s.ends.see(e)
		if warning := s.ends.missing(e); warning != "" {
			fmt.Fprintln(s.Display, advice.Warning(warning))
		}
	}
	switch {
	case e.Edge != nil:
		s.edges = append(s.edges, e)
	case e.Final != nil:
		s.members.Finals = append(s.members.Finals, *e.Final)
	}
}

// remember keeps what later sentences, summaries and places need of an event. It returns a warning about a step, or "".
func (s *Session) remember(e record.Event) (warning string) {
	s.told.See(e)
	switch {
	case e.Step != nil && e.Step.Rank < s.Run.N():
		s.parts.See(*e.Step)
		return s.watch.See(*e.Step)
	case e.Score != nil:
		s.scores = append(s.scores, *e.Score)
	}
	return ""
}

// Warn shows a warning beside the run.
func (s *Session) Warn(text string) { fmt.Fprintln(s.Display, advice.Warning(text)) }

// Until returns the condition that ends the run before its rounds are over, none by default.
func (s *Session) Until() Until {
	if s.ends == nil {
		return Until{}
	}
	return s.ends.Until
}

// Log shows a line that a peer logged.
func (s *Session) Log(rank int, line string) {
	fmt.Fprintf(s.Display, "[%d] %s\n", rank, line)
}

// results returns the results heard so far, in rank order, and the last steps.
func (s *Session) results() ([]record.Final, []record.Step) {
	finals := s.Finals()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return finals, s.last
	}
	return finals, s.told.Last()
}

// Finals returns the results heard so far, in rank order.
func (s *Session) Finals() []record.Final {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.members.Finals, func(a, b record.Final) int { return a.Rank - b.Rank })
	return s.members.Finals
}

// Edges returns the edge events of all peers, but on a LAN only those of this peer.
func (s *Session) Edges() []record.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.edges
}

// End closes display and record, after success or failure.
func (s *Session) End() {
	s.Display.Close()
	s.Saver.Release()
	s.Folder.Close()
	if s.ends != nil {
		s.ends.close()
	}
	if _, _, safe := s.safeRounds(); !safe || s.Run.Config().Checkpoint.Dir != "" {
		s.Abandon()
	}
}

// Abandon removes the folder of a run that has not begun.
func (s *Session) Abandon() {
	s.Folder.Close()
	if err := s.Folder.Drop(); err != nil {
		s.Screen.say("%s", advice.Warning(fmt.Sprintf("the run has not begun, and its folder stays: %v", err)))
	}
}

// SetOwner makes the run, and its folder, that of one peer.
func (s *Session) SetOwner(rank topology.Rank) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Folder.SetOwner(int(rank))
}

package session

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/worker"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/summary"
	"gossiptrainer/topology"
)

// Summary ends a successful run: it closes the display and returns the summary and the results of all peers by rank.
// The models are the final ones, nil if they are not on this machine. Their average goes into the folder.
func (s *Session) Summary(models score.Replicas) (record.Summary, []record.Final, error) {
	finals, last := s.results()
	sum, err := summary.Summarize(s.Run, summary.Results{
		Mode: s.Mode, Finals: finals, Last: last, Models: models, Edges: s.Edges(),
		Wall: time.Since(s.began), Version: s.Version, Ended: s.ended(), Watch: s.Testing(record.Average),
	})
	s.members.concludes(&sum)
	sum.Parts = s.parts.Mean()
	sum.MissedFaults = s.missedFaults(finals)
	if s.Mode == "sim" {
		sum.Compute, sum.Cores = cost.Compute{Costs: s.Costs}.String(), s.Cores
	}
	s.Display.Close()
	if err == nil && models != nil {
		err = s.saveAverage(finals, models, sum.Digest)
	}
	for _, f := range sum.MissedFaults {
		s.Screen.say("%s", advice.Warning(fmt.Sprintf("the fault %s at %s did not happen: %s", f.Fault, f.At, f.Why)))
	}
	if s.ends != nil {
		for _, text := range s.ends.unmet() {
			s.Screen.say("%s", advice.Warning(text))
		}
	}
	return sum, finals, err
}

// saveAverage writes the mean of the final models.
func (s *Session) saveAverage(finals []record.Final, models score.Replicas, digest string) error {
	results := worker.Results{Dir: s.Folder.Dir, Saver: s.Saver}
	if all, ok := models.(score.InMemory); ok && worker.Stacks(s.Run) {
		return results.SaveMean(s.Run, all, digest)
	}
	save := func(watch func(done, all int64)) error {
		return results.SaveAverage(s.Run, s.members.numbered(finals), digest, watch)
	}
	if s.Screen.Show == nil {
		return save(nil)
	}
	return s.Screen.Show("averaging the models", save)
}

// Keep writes the summary and the rest of the record. While the disk is full it waits.
func (s *Session) Keep(summary record.Summary) error {
	space := runfolder.SpaceError{
		Dir: s.Folder.Dir, Key: "output.dir", What: "the summary and the rest of the record", Need: s.Folder.Pending(),
	}
	if err := s.Saver.Save(space, func() error { return s.Folder.Finish(summary) }); err != nil || s.Mode != "sim" {
		return err
	}
	if err := s.Folder.DropSim(s.Run.Config()); err != nil {
		s.Warn(fmt.Sprintf("the checkpoints of the finished run stay: %v", err))
	}
	return nil
}

// An AloneError says that workers of a finished run trained without a neighbour to its end.
type AloneError struct{ Workers []record.Alone }

func (e *AloneError) Error() string {
	var all []string
	for _, a := range e.Workers {
		all = append(all, fmt.Sprintf("worker %d trained without any neighbour since round %d", a.Rank, a.Since))
	}
	return strings.Join(all, ", ")
}

// Hint says what to do.
func (e *AloneError) Hint() string {
	return "the results are kept, and no mean of the run is in them; start the run again when all machines are there"
}

// Together returns an *AloneError if workers ended the run without a neighbour.
func Together(s record.Summary) error {
	if len(s.Alone) == 0 {
		return nil
	}
	return &AloneError{s.Alone}
}

// Sentences says why the run is slow and how it learns, as far as it has gone.
func (s *Session) Sentences() []explain.Sentence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return explain.Sentences(s.told)
}

// Testing returns a function that shows the progress of a final model's test. rank may be record.Average.
func (s *Session) Testing(rank int) func(done, all int) {
	return worker.EachSecond(func(share float64) {
		s.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Testing, Share: share}})
	})
}

// ended returns the reason for an early end, "" if there is none. A script may have stopped the run.
func (s *Session) ended() string {
	if s.ends != nil && s.ends.reason() != "" {
		return s.ends.reason()
	}
	finals, _ := s.results()
	for _, f := range finals {
		if f.Stopped != "" {
			return f.Stopped
		}
	}
	return ""
}

// Shorter returns the rounds of a run that ended early, 0 for other runs.
func (s *Session) Shorter() (rounds int) {
	finals := s.Finals()
	if s.ended() == "" || len(finals) == 0 || finals[0].Rounds >= int(s.Run.Config().Train.Rounds) {
		return 0
	}
	return finals[0].Rounds
}

// LooksAhead reports whether a run configured for only the rounds that this one did has other step sizes.
func (s *Session) LooksAhead() bool {
	return s.Shorter() > 0 && s.Run.Config().Train.Schedule != "constant"
}

// Bereft reports whether a peer has gone on without another one.
func (s *Session) Bereft() bool {
	return slices.ContainsFunc(s.Edges(), func(e record.Event) bool { return e.Edge.Weight == 0 })
}

// WriteFinals prints the result of every peer, by rank or by the id of a member. MEMORY is the most that its process
// has held, PLANNED is what the run file lets expect. Workers of a simulation share a process. A terminal that is too
// narrow for both shows neither; a width of 0 is no bound.
func (s *Session) WriteFinals(w io.Writer, finals []record.Final, width int) error {
	const needed = 80 // columns of all
	narrow := width > 0 && width < needed
	t := human.AlignRight(w)
	fmt.Fprint(t, "PEER\tROUNDS\tTEST LOSS\tACCURACY\tSENT\tTIME\t")
	if !narrow {
		fmt.Fprint(t, "MEMORY\tPLANNED\t")
	}
	fmt.Fprintln(t, "DIGEST\t")
	for _, f := range finals {
		held, planned := f.Peak, forecast.Plan(s.Run, topology.Rank(f.Rank)).Total()
		if s.Mode == "sim" {
			held, planned = 0, 0
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\t", s.members.number(f.Rank), f.Rounds, human.Places(record.Number(f.Loss)),
			human.Places(record.Number(f.Accuracy)), human.Size(f.Sent.Wire), human.Seconds(f.Time.Seconds()))
		if !narrow {
			fmt.Fprintf(t, "%s\t%s\t", memory(held), memory(planned))
		}
		fmt.Fprintf(t, "%.8s\t\n", f.Digest)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// memory writes a size, and a dash where it is not known.
func memory(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return human.Size(bytes)
}

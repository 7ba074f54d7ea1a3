package simulate

import (
	"slices"
	"sync"
	"time"

	"gossiptrainer/app/worker"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// faults returns the faults of the run file, nil if there are none. Workers that come back replace the dead ones in
// workers.
func (s *Run) faults(workers []*build.Worker, means *score.Averager,
	scores func(record.Event)) *sim.Faults {
	run := s.Session.Run
	script := experiment.Script(run.Config())
	if len(script) == 0 {
		return nil
	}
	cfg := run.Config()
	back := func(rank topology.Rank, w *build.Worker, err error) (work.Task, error) {
		if err != nil {
			return work.Task{}, err
		}
		*workers[rank] = *w
		return simulatedTasks(run, workers[rank:rank+1], means, scores)[0], nil
	}
	return &sim.Faults{
		Lost: worker.LostPolicy(run), Script: script, Every: cfg.Checkpoint.Every, Keep: cfg.Checkpoint.Keep,
		Began:  func(f fault.Fault) { s.Log(int(f.First()), "fault: "+f.String()) },
		Period: time.Duration(cfg.Checkpoint.Seconds * float64(time.Second)), Detect: time.Duration(cfg.Node.Detect),
		Revive: func(rank topology.Rank, from *state.Snapshot) (work.Task, error) {
			w, err := workers[rank].Restart(from)
			return back(rank, w, err)
		},
		Join: func(rank, sponsor topology.Rank, from *state.Snapshot) (work.Task, error) {
			w, err := build.Join(run, rank, sponsor, from)
			return back(rank, w, err)
		},
	}
}

// newsOnly passes on each score of n workers once, because a worker that has come back repeats rounds. Workers that go
// on from a state begin rounds whose scores are missing.
func newsOnly(n int, began []int, observe func(record.Event)) func(record.Event) {
	var mu sync.Mutex
	latest := make([]int, n)
	for rank, round := range began {
		latest[rank] = round - 1
	}
	return func(e record.Event) {
		mu.Lock()
		news := e.Score.Round > latest[e.Score.Rank]
		latest[e.Score.Rank] = max(latest[e.Score.Rank], e.Score.Round)
		mu.Unlock()
		if news {
			observe(e)
		}
	}
}

// WhyLab compares the finished run with real peers.
func (s *Run) WhyLab() string {
	off := func(e record.Event) bool { return e.Edge.Weight == 0 }
	switch {
	case experiment.Timed(s.Session.Run):
		return "the same run with real peers, which take their own time"
	case slices.ContainsFunc(s.Edges(), off):
		return "the same run with real peers, who lose each other at other moments: another digest"
	case s.LooksAhead():
		return "a run of as many rounds with real peers, whose step sizes follow from them: another digest"
	}
	return "the same run with real peers: the same digest"
}

package sim

import (
	"fmt"
	"time"

	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A savedCoding is the work of a worker apart from gradients.
type savedCoding struct {
	Took  time.Duration `json:"took_ns"`
	Round int           `json:"round"`
	Jobs  []savedJob    `json:"jobs"`
}

// A savedJob is a job of coding.
type savedJob struct {
	Process  int           `json:"process,omitempty"`
	Cost     time.Duration `json:"cost_ns"`
	Frames   []savedFrame  `json:"frames,omitempty"`
	Step     *record.Step  `json:"step,omitempty"`
	Computes bool          `json:"computes,omitempty"`
	Round    int           `json:"round,omitempty"` // of the gradient
}

// A savedShare is a job that has a share of the cores: the first job of a worker, or its gradient.
type savedShare struct {
	Worker   topology.Rank `json:"worker"`
	Process  int           `json:"process,omitempty"`
	Gradient bool          `json:"gradient,omitempty"`
}

// saveCoding returns the saved form of a worker's work.
func saveCoding(kept *store, c *coding) *savedCoding {
	saved := &savedCoding{Took: c.took, Round: c.round}
	for _, j := range c.jobs {
		form := savedJob{Process: j.process, Cost: j.cost, Step: j.step, Computes: j.computes, Round: j.round}
		for _, f := range j.frames {
			form.Frames = append(form.Frames, kept.flight(f))
		}
		saved.Jobs = append(saved.Jobs, form)
	}
	return saved
}

// saveCores returns the state of the cores.
func saveCores(cores *cost.Processors[*job]) *cost.Load[savedShare] {
	load := cost.Save(cores, func(j *job) savedShare {
		return savedShare{Worker: j.worker, Process: j.process, Gradient: j.gradient}
	})
	return &load
}

// readCoding returns the work of a worker.
func (s *Saved) readCoding(rank topology.Rank, saved *savedCoding) (*coding, error) {
	c := &coding{took: saved.Took, round: saved.Round}
	for _, form := range saved.Jobs {
		j := &job{worker: rank, process: form.Process, cost: form.Cost}
		j.step, j.computes, j.round = form.Step, form.Computes, form.Round
		for _, frame := range form.Frames {
			f, err := s.flight(frame)
			if err != nil {
				return c, err
			}
			j.frames = append(j.frames, f)
		}
		c.jobs = append(c.jobs, j)
	}
	return c, nil
}

// resumeWork brings the work of all workers to a saved state.
func (s *simulation) resumeWork(from *Saved) error {
	if s.cores == nil && from.run.Cores == nil {
		return nil
	}
	if s.cores == nil || from.run.Cores == nil {
		return fmt.Errorf("sim: coding takes time in only one of the run and its state")
	}
	for i, w := range from.run.workers {
		if w.Coding == nil {
			continue
		}
		var err error
		if s.peers[i].coding, err = from.readCoding(topology.Rank(i), w.Coding); err != nil {
			return err
		}
	}
	return cost.Restore(s.cores, *from.run.Cores, func(share savedShare) (*job, error) {
		if err := s.known(share.Worker); err != nil {
			return nil, err
		}
		jobs := s.peers[share.Worker].coding.jobs
		switch {
		case share.Gradient:
			return &job{worker: share.Worker, process: share.Process, gradient: true}, nil
		case len(jobs) == 0:
			return nil, fmt.Errorf("sim: worker %d has a core and no job", share.Worker)
		}
		return jobs[0], nil
	})
}

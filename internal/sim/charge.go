package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// Where coding has a cost, or workers share cores, work takes processor time. A machine handles an event at once. Its
// requests wait until the work of the event is done. The jobs of a worker are carried out one after another, as the
// driver of a real peer does them. Its gradient is a job beside them. Jobs of all workers share the cores.

// A job is work of a process of a worker.
type job struct {
	worker   topology.Rank
	process  int // its number
	cost     time.Duration
	gradient bool // it is a gradient; its end is an event of the worker
	jobEnd
}

// A jobEnd holds what happens when a job of coding is over.
type jobEnd struct {
	frames   []*flight    // they leave
	step     *record.Step // is recorded
	computes bool         // the next gradient begins
	round    int          // of that gradient
}

// coding is the work of a worker apart from gradients.
type coding struct {
	due   time.Duration // of the present event, before its requests
	next  jobEnd        // of the present request
	jobs  []*job        // in order; the processors have the first one
	took  time.Duration // in the present round
	round int
	over  []*job // jobs that have ended while the process hangs
}

// busy reports whether a job is not over.
func (s *simulation) busy() bool { return s.cores != nil && s.cores.Size() > 0 }

// jobEnds returns when a job ends, if that is before all events of the queue.
func (s *simulation) jobEnds() (time.Duration, bool) {
	if !s.busy() {
		return 0, false
	}
	at, _ := s.cores.Next()
	return at, s.queue.size() == 0 || at < s.queue.first().at
}

// arrived notes the work for a frame that has arrived.
func (s *simulation) arrived(p *peer, f *flight) {
	if s.cores == nil {
		return
	}
	c := &s.opt.Costs
	p.coding.due += c.Frame + cost.Megabytes(c.Link, f.stream)
	if f.Kind == gossip.Repair {
		p.coding.due += cost.Megabytes(c.Repair, len(f.Payload))
	}
}

// charge makes a job of the work for a request of a machine: the messages that it has made, and those that it has used
// and gives back.
func (s *simulation) charge(p *peer, r *gossip.Ready, computes bool) {
	c, work := &s.opt.Costs, p.coding
	took := work.due
	for rest := r.Send; len(rest) > 0; {
		same := gossip.Shared(rest)
		switch rest[0].Kind {
		case gossip.Data:
			took += cost.Megabytes(c.Encode, len(rest[0].Payload))
		case gossip.Repair:
			took += cost.Megabytes(c.Repair, len(rest[0].Payload))
		}
		rest = rest[same:]
	}
	for _, payload := range r.Spent {
		took += cost.Megabytes(c.Mix, len(payload))
	}
	for _, f := range work.next.frames {
		took += c.Frame + cost.Megabytes(c.Link, f.stream)
	}
	crosses := r.Round > work.round
	if crosses {
		took += c.Round
	}
	j := &job{worker: p.Rank, process: p.number, cost: took, jobEnd: work.next}
	j.computes, j.round = computes, r.Round
	work.due, work.next = 0, jobEnd{}
	if work.took += took; crosses {
		if j.step != nil {
			j.step.Codec = work.took
		}
		p.account.Spend(record.Spent{Codec: work.took})
		work.took, work.round = 0, r.Round
	}
	if took == 0 && len(work.jobs) == 0 {
		s.finish(p, j)
		return
	}
	work.jobs = append(work.jobs, j)
	if len(work.jobs) == 1 {
		s.cores.Begin(s.now, j.cost, j)
	}
}

// endJob ends the next job.
func (s *simulation) endJob(at time.Duration) error {
	s.now = at
	if err := s.end(); err != nil {
		return err
	}
	j, over := s.cores.End()
	if !over {
		return nil
	}
	p := &s.peers[j.worker]
	if j.gradient {
		s.schedule(at, event{worker: j.worker, turn: j.process})
		return nil
	}
	work := p.coding
	work.jobs = work.jobs[1:]
	if len(work.jobs) > 0 {
		s.cores.Begin(at, work.jobs[0].cost, work.jobs[0])
	}
	if p.status == hanging {
		work.over = append(work.over, j)
		return nil
	}
	s.finish(p, j)
	return nil
}

// finish does what happens when a job of coding is over.
func (s *simulation) finish(p *peer, j *job) {
	for _, f := range j.frames {
		if !p.join(f) {
			s.threads[0].leave(p, f)
		}
	}
	if j.step != nil {
		j.step.Time, j.step.Wait = s.now, s.now-p.ready
		s.observe(*j.step, s.report(p, j.step))
	}
	if j.computes {
		s.cores.Begin(s.now, s.computing(p, j.round), &job{worker: p.Rank, process: p.number, gradient: true})
	}
}

// join lets a frame travel in one message with the frame of the next job to the same worker, if both fit into a record.
// A writer gathers small frames that wait together, and the next one is made before it looks.
func (p *peer) join(f *flight) bool {
	if len(p.coding.jobs) == 0 || p.status != running {
		return false
	}
	room := min(p.uplink.Link(f.To).Piece(), shape.Record)
	for _, next := range p.coding.jobs[0].frames {
		if next.To != f.To || f.length()+next.length() > room {
			continue
		}
		first := f
		for first.ahead != nil {
			first = first.ahead
		}
		first.ahead, next.ahead = next.ahead, f // frames of one job may join the same next one
		return true
	}
	return false
}

// length returns the bytes on the stream of the message in which a frame travels.
func (f *flight) length() int {
	if f == nil {
		return 0
	}
	return f.stream + f.ahead.length()
}

// weight returns the bytes on the wire of the message that carries a frame.
func (f *flight) weight() int {
	if f == nil {
		return 0
	}
	return f.wire + f.ahead.weight()
}

// quit drops the jobs of a process that dies.
func (s *simulation) quit(p *peer) {
	if s.cores != nil {
		p.coding = new(coding)
		s.cores.Drop(s.now, func(j *job) bool { return j.worker == p.Rank })
	}
}

// awake finishes the jobs that have ended while a process was hanging.
func (s *simulation) awake(p *peer) {
	if s.cores == nil {
		return
	}
	over := p.coding.over
	p.coding.over = nil
	for _, j := range over {
		s.finish(p, j)
	}
}

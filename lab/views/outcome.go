package views

import (
	"crypto/sha256"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
)

// An Outcome is a run whose members came and went.
type Outcome struct {
	Log     *view.Log
	IDs     []view.ID // of the members that are there at the end, in ascending order
	Time    time.Duration
	Sent    record.Bytes  // by all members that ever were
	Pending []fault.Fault // whose moment the run did not reach
	Absent  []fault.Fault // of members that were not there

	members *membership.Maker
	compute time.Duration      // of a gradient
	actors  map[view.ID]*actor // nil: the outcome is that of a log
}

// newOutcome returns the outcome of a log: of the members of the last view that have done all rounds.
func newOutcome(m *membership.Maker, log *view.Log, finished func(view.ID) bool) *Outcome {
	o := &Outcome{Log: log, members: m}
	for _, id := range log.At(log.Force(rounds(m, log) / m.Plan().Every)).IDs() {
		if finished(id) {
			o.IDs = append(o.IDs, id)
		}
	}
	return o
}

// rounds returns the rounds of the run of a log, which a record may end.
func rounds(m *membership.Maker, log *view.Log) int {
	return view.Rounds(log, m.Plan().Rounds, m.Plan().Every)
}

// Digest returns that of the models at the end.
func (o *Outcome) Digest() [sha256.Size]byte {
	var all [][sha256.Size]byte
	for _, id := range o.IDs {
		all = append(all, record.Digest(o.members.Latest(id).Model().X))
	}
	return record.RunDigest(all)
}

// Save writes the log of views to a file.
func (o *Outcome) Save(file string) error { return runfolder.WriteViews(file, o.Log) }

// Models returns the models of the members at the end, by rank in the last view.
func (o *Outcome) Models() score.InMemory {
	models := make(score.InMemory, len(o.IDs))
	for i, id := range o.IDs {
		models[i] = o.members.Latest(id).Model()
	}
	return models
}

// Finals returns the run of as many workers as there are members at the end, and their results by rank in the last
// view, with scores of their replicas.
func (o *Outcome) Finals() (*experiment.Run, []record.Final, error) {
	run, err := o.members.Ended(o.Log, o.IDs)
	if err != nil {
		return nil, nil, err
	}
	finals := make([]record.Final, len(o.IDs))
	for i, id := range o.IDs {
		measured := record.Final{Rounds: o.members.Plan().Rounds, Time: o.Time}
		if a := o.actors[id]; a != nil {
			measured.Sent, measured.Messages, measured.Rounds = a.sent, a.messages, a.rounds
		}
		if finals[i], err = o.members.Latest(id).Final(measured); err != nil {
			return nil, nil, err
		}
		finals[i].Rank = i
	}
	return run, finals, nil
}

// last returns the last steps of the members at the end, by rank in the last view.
func (o *Outcome) last() []record.Step {
	steps := make([]record.Step, len(o.IDs))
	for i, id := range o.IDs {
		a := o.actors[id]
		steps[i] = o.members.Latest(id).Step(record.Step{Round: a.rounds, Time: o.Time, Sent: a.sent,
			Messages: a.messages, Compute: o.compute})
		steps[i].Rank = i
	}
	return steps
}

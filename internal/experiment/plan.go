package experiment

import (
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/cores"
	"gossiptrainer/internal/train"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Plan returns the memory that the process of one worker takes, by owner. It is empty for an external model without an
// outline, whose size only its program knows.
func (r *Run) Plan(rank topology.Rank) budget.Plan {
	if r.dim == 0 {
		return nil
	}
	w := r.Sizes(rank)
	return w.Plan()
}

// Sizes returns the sizes from which follow memory and disk of a worker. They are 0 for an external model without an
// outline.
func (r *Run) Sizes(rank topology.Rank) budget.Worker {
	if r.dim == 0 {
		return budget.Worker{}
	}
	neighbours := len(r.rows[rank].At(0).In)
	w := budget.Worker{
		Parameters: r.dim, Moments: r.Moments(), External: r.cfg.External(),
		Payload: r.steadyPayload(), Slots: 2, Ahead: 2, Neighbours: neighbours, Rounds: int(r.cfg.Train.Rounds),
		Keeping: budget.Keeping{
			Keeps: !r.Reweights() && (r.cfg.Checkpoint.Every > 0 || r.cfg.Checkpoint.Seconds > 0),
			Kept:  r.cfg.Checkpoint.Keep, Longest: int64(r.cfg.Checkpoint.Journal), Steps: r.cfg.Algorithm.LocalSteps,
		},
	}
	if !r.Asynchronous() {
		w.Hops = r.method.Sends.Hops(r.N())
	}
	if ahead := r.rows[rank].Ahead(); ahead > 1 {
		w.Slots = ahead + 1
	}
	whole := r.cfg.Algorithm.Clip.Radius > 0 || r.cfg.Algorithm.Clip.Liars > 0 || r.method.Sends.Spans != nil
	w.Pieces = r.method.ByCodec() && !whole && !r.Asynchronous() && !r.Reweights() && r.rows[rank].Period() == 1
	if r.method.Sends.Spans != nil { // chunks of the model go around a cycle
		w.Slots = r.N()
	}
	if lanes := len(r.method.Lanes()); lanes > 1 {
		w.Payload *= lanes
	}
	if r.method.Vector.Kind == "" {
		w.Vectors = r.method.Vector.Of(neighbours)
	}
	if r.cfg.Algorithm.LocalSteps > 1 {
		w.Vectors += r.method.Vector.Local
	}
	if r.cfg.Algorithm.ErrorFeedback {
		w.Vectors += r.method.Vector.Feedback
	}
	if c := r.cfg.Algorithm.Clip; c.Radius > 0 || c.Liars > 0 {
		w.Vectors++
	}
	if r.quantized() && r.cfg.Algorithm.Theta.Verify {
		w.Repair = moniqua.UsualRepair(r.dim)
	}
	if r.method.Reads && r.directions().ComputesInPlace() {
		w.Part = r.part
	}
	w.Activations = int64(r.scorer.Lanes(cores.Free())) * r.activations()
	if r.data != nil {
		w.Data = r.data.Bytes()
	}
	return w
}

// recordBytes is an upper estimate of the length of a record's line.
const recordBytes = 600

// Disk returns the bytes that the processes of a run on one machine take of its disks at most, by owner. In the mode
// run that is one peer. It is empty for a model whose size is not known.
func (r *Run) Disk(mode string) (all budget.Plan) {
	if r.dim == 0 {
		return nil
	}
	peers := 1
	if mode != "run" {
		peers = r.N()
	}
	for rank := range peers {
		sizes := r.Sizes(topology.Rank(rank))
		if mode == "sim" { // it keeps its messages in memory, and has one checkpoint for all workers
			sizes.Hops = 0
		}
		all.Add(sizes.Stored())
	}
	model := floatBytes * int64(r.dim)
	if mode != "run" {
		all.Add(budget.Plan{{Owner: budget.Average, Bytes: model, What: "the average of the final models"}})
	}
	if r.cfg.Train.From != "" {
		all.Add(budget.Plan{{Owner: budget.Start, Bytes: model, What: "a copy of the model that the run starts from"}})
	}
	lines := int64(r.N()) * int64(int(r.cfg.Train.Rounds)/max(1, r.cfg.Output.Every))
	all.Add(budget.Plan{{Owner: budget.Record, Bytes: recordBytes * lines, What: "the record of all peers"}})
	return all
}

// Moments returns how many vectors the optimizer of a worker has.
func (r *Run) Moments() int {
	switch t := r.cfg.Train; {
	case t.Optimizer.Name == string(train.AdamW):
		return 2
	case t.Optimizer.Name == string(train.Lion) || t.Momentum > 0:
		return 1
	}
	return 0
}

package forecast

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/train"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Plan returns the memory that the process of one worker takes, by owner. It is empty for an external model without an
// outline, whose size only its program knows.
func Plan(r *experiment.Run, rank topology.Rank) budget.Plan {
	if r.Dim() == 0 {
		return nil
	}
	w := Sizes(r, rank)
	return w.Plan()
}

// Sizes returns the sizes from which follow memory and disk of a worker. They are 0 for an external model without an
// outline.
func Sizes(r *experiment.Run, rank topology.Rank) budget.Worker {
	if r.Dim() == 0 {
		return budget.Worker{}
	}
	cfg, method := r.Config(), r.Method()
	neighbours := len(r.Rows()[rank].At(0).In)
	w := budget.Worker{
		Parameters: r.Dim(), Moments: moments(cfg.Train), External: cfg.External(),
		Payload: usual(r), Slots: 2, Ahead: 2, Neighbours: neighbours, Rounds: int(cfg.Train.Rounds),
		Keeping: budget.Keeping{
			Keeps: !cfg.Reweights() && (cfg.Checkpoint.Every > 0 || cfg.Checkpoint.Seconds > 0),
			Kept:  cfg.Checkpoint.Keep, Longest: int64(cfg.Checkpoint.Journal), Steps: cfg.Algorithm.LocalSteps,
		},
	}
	if !method.Asynchronous() {
		w.Hops = method.Sends.Hops(r.N())
	}
	if ahead := r.Rows()[rank].Ahead(); ahead > 1 {
		w.Slots = ahead + 1
	}
	whole := cfg.Algorithm.Clip.Radius > 0 || cfg.Algorithm.Clip.Liars > 0 || method.Sends.Spans != nil
	w.Pieces = method.ByCodec() && !whole && !method.Asynchronous() && !cfg.Reweights() && r.Rows()[rank].Period() == 1
	if method.Sends.Spans != nil { // chunks of the model go around a cycle
		w.Slots = r.N()
	}
	if lanes := len(method.Lanes()); lanes > 1 {
		w.Payload *= lanes
	}
	if method.Vector.Kind == "" {
		w.Vectors = method.Vector.Of(neighbours)
	}
	if cfg.Algorithm.LocalSteps > 1 {
		w.Vectors += method.Vector.Local
	}
	if cfg.Algorithm.ErrorFeedback {
		w.Vectors += method.Vector.Feedback
	}
	if c := cfg.Algorithm.Clip; c.Radius > 0 || c.Liars > 0 {
		w.Vectors++
	}
	if r.Modulo() != nil && cfg.Algorithm.Theta.Verify {
		w.Repair = moniqua.UsualRepair(r.Dim())
	}
	if method.Reads && experiment.Directions(cfg.Train).ComputesInPlace() {
		w.Part = r.Size().Part
	}
	w.Activations = int64(r.Scorer().Lanes(machine.FreeCores())) * r.Scorer().Memory
	if r.Data() != nil {
		w.Data = r.Data().Bytes()
	}
	return w
}

// recordBytes is an upper estimate of the length of a record's line.
const recordBytes = 600

// Disk returns the bytes that the processes of a run on one machine take of its disks at most, by owner. In the mode
// run that is one peer. It is empty for a model whose size is not known.
func Disk(r *experiment.Run, mode string) (all budget.Plan) {
	if r.Dim() == 0 {
		return nil
	}
	peers := 1
	if mode != "run" {
		peers = r.N()
	}
	for rank := range peers {
		sizes := Sizes(r, topology.Rank(rank))
		if mode == "sim" { // it keeps its messages in memory, and has one checkpoint for all workers
			sizes.Hops = 0
		}
		all.Add(sizes.Stored())
	}
	cfg, model := r.Config(), floatBytes*int64(r.Dim())
	if mode != "run" {
		all.Add(budget.Plan{{Owner: budget.Average, Bytes: model, What: "the average of the final models"}})
	}
	if cfg.Train.From != "" {
		all.Add(budget.Plan{{Owner: budget.Start, Bytes: model, What: "a copy of the model that the run starts from"}})
	}
	lines := int64(r.N()) * int64(int(cfg.Train.Rounds)/max(1, cfg.Output.Every))
	all.Add(budget.Plan{{Owner: budget.Record, Bytes: recordBytes * lines, What: "the record of all peers"}})
	return all
}

// moments returns how many vectors the optimizer of a worker has.
func moments(t configs.Train) int {
	switch {
	case t.Optimizer.Name == string(train.AdamW):
		return 2
	case t.Optimizer.Name == string(train.Lion) || t.Momentum > 0:
		return 1
	}
	return 0
}

// Memory returns the least number of bytes that a worker takes: its model, gradient, direction and message, and the
// memory for a batch.
func Memory(r *experiment.Run) int64 {
	const vectors = 4
	cfg, of := r.Config(), vectors
	switch {
	case cfg.External():
		of++ // the vector that the program shares
	case r.Data() == nil:
		of += 2 // curvatures and optimum of a quadratic
	}
	return floatBytes * (int64(of)*int64(r.Dim()) + int64(cfg.Train.Batch)*int64(r.Size().Sample))
}

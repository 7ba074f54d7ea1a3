package experiment

import (
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/compress"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/score"
	"gossiptrainer/model"
)

// newScorer makes the scorer when all else is known. While the run goes on, the mean of the replicas is evaluated
// except in three cases. Asynchronous workers have no rounds in common. Only its script can evaluate an external model.
// Running statistics are averaged only at the end.
func newScorer(r *Run) *score.Scorer {
	m := r.cfg.Model
	kind, _ := model.Find(m.Name)
	return score.New(score.Setup{
		Data: r.data, Spec: func(batch int) model.Spec { return r.ModelSpec(0, batch) }, Workers: r.N(), Dim: r.size.Dim,
		Batch: r.cfg.Train.Batch, Most: r.cfg.Output.EvaluateSamples, Every: r.cfg.Output.Evaluate,
		Sampled: r.cfg.Output.ReplicaSamples,
		Means:   !kind.External && !(kind.Has("norm") && m.Norm == "batch") && !r.method.Asynchronous(),
		Scripts: r.cfg.External(), Memory: activations(r),
	})
}

// newCompressors makes what makes compressors when the size of the model is known.
func newCompressors(r *Run) *compress.Maker {
	a := r.cfg.Algorithm
	m := &compress.Maker{
		Algorithm: a.Name, Suits: r.method.Sends.Compressor, Compressor: a.Compressor, Controller: a.Controller,
		Controlled: bits.Controlled(a.Controller), Rounds: int(r.cfg.Train.Rounds), Seed: r.cfg.Seed,
		Dim: r.size.Dim, Exact: r.exact, Layers: r.size.Layout,
	}
	if a.ErrorFeedback {
		m.Suits = r.method.Sends.Feedback
	}
	return m
}

// newModulo chooses the bound of the modulo codec. It returns nil where models do not travel as its symbols.
func newModulo(r *Run) (*modulo.Maker, error) {
	bound, err := largestBound(r)
	if err != nil || !quantized(r) {
		return nil, err
	}
	m := &modulo.Maker{
		Algorithm: r.cfg.Algorithm, Method: r.method, Settings: Settings(r.cfg), Seed: r.cfg.Seed, Graph: r.graph,
		Workers: r.N(), Reweights: r.cfg.Reweights(), External: r.cfg.External(), Rounds: int(r.cfg.Train.Rounds),
		Step: r.schedule.At, Bound: bound,
	}
	return m, m.Choose()
}

// activations returns the bytes of the values of a batch between layers, and of packed weights.
func activations(r *Run) int64 {
	return floatBytes * (int64(r.cfg.Train.Batch)*int64(r.size.Sample) + int64(r.size.Packed))
}

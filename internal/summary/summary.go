// Package summary sums up the results of a run.
package summary

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
)

// Results is the outcome of a run as its driver knows it.
type Results struct {
	Mode    string              // run, lab or sim
	Finals  []record.Final      // in any order
	Last    []record.Step       // the last recorded step of each worker, in any order
	Models  score.Replicas      // final models; nil: they are not known
	Edges   []record.Event      // edge events on record: of all workers, in mode run of one
	Wall    time.Duration       // of the whole command
	Version string              // of the program
	Watch   func(done, all int) // hears the progress of the average model's evaluation; may be nil
	Ended   string              // why the run ended early; "": its rounds were over
}

// Summarize sums up a run. Figures that need all models are null if a model is missing.
func Summarize(r *experiment.Run, res Results) (record.Summary, error) {
	cfg, d := r.Config(), r.Describe()
	s := record.Summary{
		Mode: res.Mode, Run: cfg.Name, Algorithm: d.Label, Method: d.Method.String(), Graph: d.Graph,
		Bits: r.Bits(), Peers: r.N(),
		Slack: float64(cfg.Topology.Slack), Gamma: float64(cfg.Algorithm.Gamma), Entropy: cfg.Wire.Entropy,
		Wall: res.Wall.Seconds(), Seed: cfg.Seed, Version: res.Version,
	}
	if res.Mode != "sim" && cfg.Node.Security == experiment.OpenLinks {
		s.Security = experiment.OpenLinks
	}
	bits, last := 0.0, []*record.Step(nil)
	for _, step := range res.Last {
		last = append(last, &step)
		bits += step.Effective / float64(len(res.Last))
	}
	s.TrainLoss = record.Number(record.MeanLoss(last))
	sumFinals(r, &s, res.Finals)
	if r.Dim() == 0 { // the workers know the size of their model
		s.Effective = bits
	}
	if s.Data = record.SumRows(cfg.Data.Partition, res.Finals, r.N()); s.Data != nil {
		s.Data.BySamples, s.Data.LabelNoise = cfg.Data.Weighted(), cfg.Data.LabelNoise
		if most := cfg.Output.ReplicaSamples; cfg.Output.Evaluate > 0 && slices.Max(s.Data.Test) > most {
			s.Data.Sampled = most
		}
	}
	if s.Steps < len(res.Finals)*int(cfg.Train.Rounds) {
		s.Ended = res.Ended
	}
	var err error
	if cfg.Reweights() && res.Mode != "run" && len(res.Edges) > 0 {
		if s.Losses, err = record.SumLosses(res.Edges, r.N(), res.Finals); err != nil {
			return record.Summary{}, err
		}
	}
	sumGone(r, &s, res)
	if cfg.Reweights() {
		s.Alone = record.SumAlone(res.Edges, res.Finals, max(1, cfg.Algorithm.LocalSteps))
	}
	if s.Digest, err = digest(r, res.Finals); err != nil {
		return record.Summary{}, err
	}
	if err := compareModels(r, &s, res.Models, res.Watch); err != nil {
		return record.Summary{}, err
	}
	return s, nil
}

// sumFinals takes the means and extremes over the workers.
func sumFinals(r *experiment.Run, s *record.Summary, finals []record.Final) {
	if len(finals) == 0 {
		return
	}
	n := len(finals)
	s.Rounds, s.PerWorker = finals[0].Rounds, make([]int, r.N())
	s.Theta = sumThetas(finals)
	var scores []record.Score
	var sent record.Bytes
	var messages record.Messages
	for _, f := range finals {
		s.Rounds = min(s.Rounds, f.Rounds)
		s.Steps += f.Rounds
		if f.Rank >= 0 && f.Rank < r.N() {
			s.PerWorker[f.Rank] = f.Rounds
		}
		s.Time = max(s.Time, f.Time.Seconds())
		scores = append(scores, record.Score{Loss: f.Loss, Accuracy: f.Accuracy})
		s.ExtraMemory = max(s.ExtraMemory, f.ExtraMemory)
		s.MeanBits += f.Bits / float64(n)
		sent.Add(f.Sent)
		messages.Add(f.Messages)
	}
	if s.Time > 0 {
		s.Rate = float64(s.Steps) / s.Time
	}
	s.BytesPerPeer = record.Bytes{
		Payload: sent.Payload / int64(n), Stream: sent.Stream / int64(n), Wire: sent.Wire / int64(n),
	}
	s.Effective = messages.Bits(r.Parameters())
	s.Grade(scores)
}

// sumThetas returns the largest bound and the totals of violations and repairs. A total is known if all workers know
// theirs.
func sumThetas(finals []record.Final) record.Theta {
	sum := record.Theta{Violations: new(int64)}
	for _, f := range finals {
		sum.Value = max(sum.Value, f.Theta.Value)
		sum.Repaired += f.Theta.Repaired
		if f.Theta.Violations == nil {
			sum.Violations = nil
		} else if sum.Violations != nil {
			*sum.Violations += *f.Theta.Violations
		}
	}
	return sum
}

// sumGone adds the workers without a result. Their last steps say how far they came, and edge events since which round,
// where edges count in rounds. Under the policy wait the others did not go on without them: these workers ended after
// the last round.
func sumGone(r *experiment.Run, s *record.Summary, res Results) {
	if len(res.Finals) == 0 {
		return
	}
	cfg, finished := r.Config(), make([]bool, r.N())
	for _, f := range res.Finals {
		if f.Rank < len(finished) { // others are refused with their digests
			finished[f.Rank] = true
		}
	}
	since := make(map[int]int)
	for rank, done := range finished {
		if !done {
			since[rank] = 0
		}
	}
	for _, step := range res.Last {
		if _, gone := since[step.Rank]; gone {
			s.PerWorker[step.Rank] = step.Round
			s.Steps += step.Round
			since[step.Rank] = step.Round
		}
	}
	for _, e := range res.Edges {
		if e.Edge == nil || e.Edge.Weight != 0 || r.Method().Asynchronous() || cfg.Algorithm.LocalSteps != 1 {
			continue
		}
		if round, gone := since[e.Edge.Peer]; gone {
			since[e.Edge.Peer] = max(round, e.Edge.Exchange)
		}
	}
	if !cfg.Reweights() {
		s.Missing = slices.Sorted(maps.Keys(since))
		return
	}
	for _, rank := range slices.Sorted(maps.Keys(since)) {
		s.Gone = append(s.Gone, record.Gone{Rank: rank, Since: since[rank]})
	}
}

// digest returns the digest of all final models, "" if some are missing. Under the policy reweight it is the digest of
// the models that exist.
func digest(r *experiment.Run, finals []record.Final) (string, error) {
	if len(finals) == 0 || len(finals) != r.N() && !r.Config().Reweights() {
		return "", nil
	}
	digests := make([][sha256.Size]byte, r.N())
	given := make([]bool, r.N())
	for _, f := range finals {
		if f.Rank < 0 || f.Rank >= r.N() {
			return "", fmt.Errorf("summary: worker %d: the run has workers 0 to %d", f.Rank, r.N()-1)
		}
		raw, err := hex.DecodeString(f.Digest)
		if err != nil || len(raw) != sha256.Size || given[f.Rank] {
			return "", fmt.Errorf("summary: result of worker %d: digest %q: want one of %d bytes in hex", f.Rank, f.Digest,
				sha256.Size)
		}
		copy(digests[f.Rank][:], raw)
		given[f.Rank] = true
	}
	left := digests[:0]
	for rank, there := range given {
		if there {
			left = append(left, digests[rank])
		}
	}
	sum := record.RunDigest(left)
	return hex.EncodeToString(sum[:]), nil
}

// compareModels fills in the distance of the replicas to their mean and the accuracy of that mean, if all models exist.
// With batch normalization it is evaluated with the means of the running statistics. Under the policy reweight the
// models of the remaining workers suffice.
func compareModels(r *experiment.Run, s *record.Summary, all score.Replicas, watch func(done, all int)) error {
	if all == nil {
		return nil
	}
	cfg := r.Config()
	models, dim := all.Size()
	if models == 0 || models != r.N() && !cfg.Reweights() || dim == 0 || dim != cmp.Or(r.Dim(), dim) {
		return nil
	}
	if cfg.External() { // only its program can evaluate the model
		consensus, err := score.Mean(all, func([]float32) bool { return true })
		s.Consensus = record.Number(consensus)
		return err
	}
	var consensus float64
	var failed error
	mean, err := all.Collect(func(yield func([]float32) bool) { consensus, failed = score.Mean(all, yield) })
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	s.Consensus = record.Number(consensus)
	statistics, err := score.MeanStatistics(all)
	if err != nil {
		return err
	}
	result, _, err := r.Scorer().Score(mean, statistics, watch)
	if err != nil {
		return err
	}
	s.Accuracy.AverageModel = record.Number(result.Accuracy)
	return nil
}

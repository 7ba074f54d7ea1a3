package train

import "gossiptrainer/internal/data"

// Batches returns the mini-batch of round k, a function of (seed, worker, k).
// The batch is used before the next call.
type Batches func(k int) data.Batch

// NoData is for objectives without data.
func NoData(int) data.Batch { return data.Batch{} }

// FromShard returns the batches that a sampler draws from a worker's shard. They
// share one memory.
func FromShard(shard data.Set, s data.Sampler) Batches {
	var batch data.Batch
	var rows []int
	return func(k int) data.Batch {
		rows = s.Append(rows[:0], k)
		shard.Gather(&batch, rows)
		return batch
	}
}

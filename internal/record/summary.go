package record

import "math"

// A Summary is the output of run, lab and sim with --json (docs/format/events.md#summary).
type Summary struct {
	Mode      string `json:"mode"`
	Run       string `json:"run"`
	Algorithm string `json:"algorithm"`
	Bits      int    `json:"bits"` // per parameter; the maximum if they change
	Peers     int    `json:"peers"`
	Rounds    int    `json:"rounds"`           // of the worker with the fewest
	Steps     int    `json:"steps"`            // of all workers
	PerWorker []int  `json:"steps_per_worker"` // by rank; of a lost worker, up to its last record
	// Ended is what ended the run early: time=10m0s, loss=0.4 or accuracy=0.9, or a script, as in "worker 1: overfits".
	Ended string  `json:"ended,omitempty"`
	Rate  float64 `json:"steps_per_s"` // Steps / Time
	Wall  float64 `json:"wall_s"`
	Time  float64 `json:"time_s"`
	// Compute has the processor times of a simulation, as "peer sim --compute" and comparison files read them.
	Compute      string   `json:"compute,omitempty"`
	Cores        int      `json:"cores,omitempty"` // that the workers of a simulation share; 0: each has its own
	Loss         *float64 `json:"loss"`            // mean over the replicas, test set; null: a script told none
	TrainLoss    *float64 `json:"train_loss"`      // mean over workers of the last recorded mini-batch losses
	Accuracy     Accuracy `json:"accuracy"`
	Consensus    *float64 `json:"consensus_linf"`     // max_i |x_i − x̄|_∞; null if this process lacks the models
	BytesPerPeer Bytes    `json:"bytes_per_peer"`     // sent, mean over the peers
	Entropy      string   `json:"entropy"`            // the coder of the run file
	Effective    float64  `json:"bits_per_parameter"` // of messages on the stream, entropy coding and headers included
	ExtraMemory  int64    `json:"extra_memory_bytes"`
	Security     string   `json:"security,omitempty"` // none: the links were not encrypted
	Theta        Theta    `json:"theta"`
	Slack        float64  `json:"slack,omitempty"`  // of the mixing matrix; 0: none
	Gamma        float64  `json:"gamma,omitempty"`  // consensus step; 0: none
	MeanBits     float64  `json:"mean_bits"`        // over exchanges and peers
	Losses       *Losses  `json:"losses,omitempty"` // under the policy reweight, and where members come and go
	Parts        *Parts   `json:"parts,omitempty"`  // of a round of a script; nil for a built-in model
	Data         *Split   `json:"data,omitempty"`   // nil for an objective without data
	Gone         []Gone   `json:"gone,omitempty"`   // peers without a result, by rank: the run went on without them
	// Alone are the workers that did their last rounds without a neighbour, by rank. A peer on a LAN knows itself.
	Alone []Alone `json:"alone,omitempty"`
	// MissedFaults are the faults of the script whose moment the run did not reach, in its order.
	MissedFaults []MissedFault `json:"missed_faults,omitempty"`
	// Missing are peers without a result under the policy wait.
	Missing []int  `json:"missing,omitempty"`
	Method  string `json:"method"` // algorithm, codec and compressor for people: D-PSGD, 8-bit Moniqua
	Graph   string `json:"graph"`  // on which messages travel
	Digest  string `json:"digest"` // of the final models without those of Gone
	Seed    uint64 `json:"seed"`
	Version string `json:"version"`
}

// A MissedFault is a fault of a script that did not happen.
type MissedFault struct {
	Fault string `json:"fault"` // such as kill 3
	At    string `json:"at"`    // such as round 40, or 2s
	Why   string `json:"why"`
}

// Gone is a peer that was lost for good, under the policy reweight.
type Gone struct {
	Rank  int `json:"rank"`
	Since int `json:"since_round"` // first round without it, as far as the record shows
}

// Accuracy is the test accuracy of a run's replicas; null for a task without accuracy.
type Accuracy struct {
	Mean         *float64 `json:"mean"`
	Min          *float64 `json:"min"`
	AverageModel *float64 `json:"average_model"`
}

// Grade sums up the test results of replicas, one at least: means, and the least accuracy. A NaN stays one.
func (s *Summary) Grade(all []Score) {
	loss, mean, least := 0.0, 0.0, math.Inf(1)
	for _, of := range all {
		loss += of.Loss / float64(len(all))
		mean += of.Accuracy / float64(len(all))
		least = min(least, of.Accuracy)
	}
	s.Loss, s.Accuracy.Mean, s.Accuracy.Min = Number(loss), Number(mean), Number(least)
}

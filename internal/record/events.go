// Package record is the record of a run: typed events, written as JSON lines and read back. Package report draws them.
//
// A record only observes: no decision in a run depends on it. docs/format/events.md describes the files.
package record

import (
	"math"
	"time"
)

// Bytes counts what one worker has sent, at three layers.
type Bytes struct {
	Payload int64 `json:"payload"` // the algorithm's payloads: symbols and index hashes, not repairs or still parts
	Stream  int64 `json:"stream"`  // frames on the stream, headers included
	Wire    int64 `json:"wire"`    // bytes on the wire, encrypted
}

// Add adds other to b.
func (b *Bytes) Add(other Bytes) {
	b.Payload += other.Payload
	b.Stream += other.Stream
	b.Wire += other.Wire
}

// Messages counts the messages that one worker has sent, without repairs and requests.
type Messages struct {
	Count  int64 `json:"count"`
	Stream int64 `json:"stream"` // their bytes on the stream, headers included
	// Still is how many bytes they left out because these have not changed since the start of the run.
	Still int64 `json:"still,omitempty"`
}

// Add adds other to m.
func (m *Messages) Add(other Messages) {
	m.Count += other.Count
	m.Stream += other.Stream
	m.Still += other.Still
}

// Bits returns the bits per parameter on the stream, if each message has that many parameters with those that it left
// out. It is 0 if none was sent.
func (m Messages) Bits(parameters int) float64 {
	sent := float64(m.Count)*float64(parameters) - m.left()
	if sent <= 0 {
		return 0
	}
	return 8 * float64(m.Stream) / sent
}

// parameters returns how many parameters each message has, with those that it left out, if it has these Bits.
func (m Messages) parameters(bits float64) int {
	if m.Count == 0 || bits == 0 {
		return 0
	}
	return int(math.Round((8*float64(m.Stream)/bits + m.left()) / float64(m.Count)))
}

// left returns the parameters that all messages left out, 4 bytes each.
func (m Messages) left() float64 { return float64(m.Still) / 4 }

// A Step is one worker's record of one finished round.
type Step struct {
	Rank  int           `json:"rank"`
	Round int           `json:"round"`   // rounds finished, 1..
	Time  time.Duration `json:"time_ns"` // since the first round began; virtual in sim
	// Loss is that of the mini-batch, times the weight of the worker (data.weights). NaN is written as null: the script of
	// an external model has logged none.
	Loss    float64       `json:"loss"`
	Gap     float64       `json:"gap"`        // max_j |x̂_j − x̂_i|_∞ over neighbours
	Moved   int           `json:"moved"`      // coordinates with a non-zero index difference
	Theta   float64       `json:"theta"`      // 0: none
	Bits    int           `json:"bits"`       // per parameter of the messages
	Compute time.Duration `json:"compute_ns"` // gradient, this round
	Wait    time.Duration `json:"wait_ns"`    // for neighbours, this round
	Codec   time.Duration `json:"codec_ns"`   // encode, decode and mix, this round
	// HandOver is the time of the copies to and from the user's script, this round; 0 of a built-in model.
	HandOver time.Duration `json:"handover_ns,omitempty"`
	Sent     Bytes         `json:"sent"` // since the start
	Received Bytes         `json:"received"`
	Messages Messages      `json:"messages"` // sent since the start
	// Effective is the bits per parameter of the messages sent since the start.
	Effective float64 `json:"bits_per_parameter"`
}

// A State is the activity of a worker, for users.
type State string

// States of a worker.
const (
	Starting  State = "starting"
	Joining   State = "joining"
	Training  State = "training"
	Waiting   State = "waiting"
	Returning State = "returning" // its process has died and starts again
	Testing   State = "testing"
	Finished  State = "done"
	Failed    State = "failed"
	Lost      State = "lost" // its process has died, and the run goes on without it
)

// A Status says that a worker's state changed.
type Status struct {
	Rank    int    `json:"rank"`
	State   State  `json:"state"`
	Detail  string `json:"detail,omitempty"`  // for users
	Missing []int  `json:"missing,omitempty"` // ranks for which it waits
	More    int    `json:"more,omitempty"`    // workers for which it waits besides: a message had no room for them
	// Share is the finished part of the final test, while Testing; Rank may be Average.
	Share float64 `json:"share,omitempty"`
	// Here is, with a negative Rank, the peers found so far, this one included. A member says how many its view has.
	Here int `json:"here,omitempty"`
	// View is one that has begun, where members come and go.
	View *Membership `json:"view,omitempty"`
}

// A Final is one worker's result.
type Final struct {
	Rank        int           `json:"rank"`
	Rounds      int           `json:"rounds"`
	Loss        float64       `json:"loss"`     // of this replica on the test set; NaN is written as null
	Accuracy    float64       `json:"accuracy"` // NaN is written as null
	Digest      string        `json:"digest"`   // of this replica's parameters
	Sent        Bytes         `json:"sent"`
	Messages    Messages      `json:"messages"`
	ExtraMemory int64         `json:"extra_memory_bytes"`
	Theta       Theta         `json:"theta"`
	Bits        float64       `json:"bits"` // per parameter, mean over the exchanges
	Peak        int64         `json:"peak_rss_bytes,omitempty"`
	Time        time.Duration `json:"time_ns"` // from the start of its first round to the end of its last
	Data        *Rows         `json:"data,omitempty"`
	Stopped     string        `json:"stopped,omitempty"` // which script stopped the run before its rounds were over, and why
}

// Rows count the training and test rows of a worker.
type Rows struct {
	Train   int    `json:"train"`
	Test    int    `json:"test"`
	TestSet string `json:"test_set,omitempty"` // fingerprint, if workers have test sets of their own
}

// Average is the rank of the mean of all replicas in a Score.
const Average = -1

// A Score is the result of a model on the test set during training.
type Score struct {
	Rank     int     `json:"rank"`     // of the replica, or Average
	Round    int     `json:"round"`    // rounds finished, 1..
	Loss     float64 `json:"loss"`     // NaN and infinities are written as null
	Accuracy float64 `json:"accuracy"` // NaN is written as null
}

// An Edge says that one end of an edge switches it on or off, under the policy reweight. The weights
// of one rank are a row of W, whose diagonal entry is 1 minus their sum. The record also has the edges
// at the start of a run.
type Edge struct {
	Rank int `json:"rank"`
	// Peer is the other end. Rank itself means that a new process begins: the other ends say when the old edges ended.
	Peer     int     `json:"peer"`
	Exchange int     `json:"exchange"` // from this one on
	Weight   float64 `json:"weight"`   // W_ij; 0: the edge is off
}

// Values are further numbers that the script of a worker has logged, by name; null is one that is not finite.
type Values struct {
	Rank   int                 `json:"rank"`
	Round  int                 `json:"round"` // in which it logged them, 0..
	Values map[string]*float64 `json:"values"`
}

// An Event is one line of a record: exactly one field is set.
type Event struct {
	Step   *Step   `json:"step,omitempty"`
	Score  *Score  `json:"score,omitempty"`
	Status *Status `json:"status,omitempty"`
	Final  *Final  `json:"final,omitempty"`
	Edge   *Edge   `json:"edge,omitempty"`
	Links  *Links  `json:"links,omitempty"`
	Values *Values `json:"values,omitempty"`
}

// Theta is the modulo codec's bound at the end of a run, and the violations of it. Without verification only a
// simulation, which has all models, knows of violations: a peer cannot tell a wrongly recovered model from a right one.
type Theta struct {
	Value      float64 `json:"value"`      // 0 without a bound
	Violations *int64  `json:"violations"` // wrongly recovered messages; null: unknown
	Repaired   int64   `json:"repaired"`   // those that were repaired before use
}

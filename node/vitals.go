package node

import (
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A Status is a snapshot of a node.
type Status struct {
	Peer    string       `json:"peer"`   // id
	Rank    int          `json:"rank"`   // −1: not known yet
	Peers   int          `json:"peers"`  // workers of the run
	Here    int          `json:"here"`   // peers that this one has found, itself included
	Round   int          `json:"round"`  // rounds finished
	Rounds  int          `json:"rounds"` // of the run; 0 before it
	Loss    *float64     `json:"loss"`   // of the last mini-batch; null before the first, or if not finite
	State   record.State `json:"state"`
	Detail  string       `json:"detail,omitempty"`
	Share   float64      `json:"share,omitempty"` // finished part of the worker's last test
	Waiting []int        `json:"waiting_for"`     // ranks whose messages the next round lacks

	Compute time.Duration `json:"compute_ns"` // gradients, since the start
	Wait    time.Duration `json:"wait_ns"`    // for neighbours
	Codec   time.Duration `json:"codec_ns"`   // encoding, decoding, mixing

	Violations int64 `json:"violations"` // messages that were recovered wrongly
	Repaired   int64 `json:"repaired"`   // those of them that were repaired before use
	Late       int   `json:"late"`       // exchanges that waited for a link that was not open yet

	Sent      record.Bytes     `json:"sent"`
	Received  record.Bytes     `json:"received"`
	Accounts  []record.Links   `json:"accounts"`           // the newest of every worker that is known, by rank
	Telemetry int64            `json:"telemetry_received"` // bytes of gossipsub
	Links     []LinkStatus     `json:"links"`              // in increasing rank
	Refused   map[string]int64 `json:"refused"`            // refused frames and peers, by reason
}

// A LinkStatus is a snapshot of the link to one neighbour.
type LinkStatus = link.Status

// spent splits the time of a round.
type spent struct{ compute, wait, codec time.Duration }

// vitals are a driver's figures for other goroutines.
type vitals struct {
	mu      sync.Mutex
	rank    int
	round   int
	rounds  int // 0 before the run
	loss    *float64
	waiting []int
	total   spent
	repairs gossip.Repairs
	late    int
	status  record.Status
	account *record.Links // the newest on record
}

// settle notes the rank.
func (v *vitals) settle(rank int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rank = rank
}

// place returns the rank, the rounds finished, and whether there are rounds.
func (v *vitals) place() (rank, round int, training bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rank, v.round, v.rounds > 0
}

// begin notes the length of the run and the worker's first round.
func (v *vitals) begin(round, rounds int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.round, v.rounds = round, rounds
}

// end notes a new length of the run.
func (v *vitals) end(rounds int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rounds = rounds
}

// wait notes the neighbours for which the worker waits, and how many exchanges have waited for a link.
func (v *vitals) wait(whom []topology.Rank, late int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late = late
	v.waiting = v.waiting[:0]
	for _, rank := range whom {
		v.waiting = append(v.waiting, int(rank))
	}
}

// finish notes the end of a round.
func (v *vitals) finish(round int, loss float32, took spent, repairs gossip.Repairs) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.round, v.loss = round, record.Number(float64(loss))
	v.total.compute += took.compute
	v.total.wait += took.wait
	v.total.codec += took.codec
	v.repairs = repairs
}

// note keeps the newest account on record.
func (v *vitals) note(account *record.Links) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.account = account
}

// say notes what the worker is doing.
func (v *vitals) say(s record.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status = s
}

// tell fills in the driver's part of s.
func (v *vitals) tell(s *Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s.Rank, s.Round, s.Rounds, s.Loss = v.rank, v.round, v.rounds, v.loss
	s.State, s.Detail, s.Share = v.status.State, v.status.Detail, v.status.Share
	if s.State == "" {
		s.State = record.Starting
	}
	s.Waiting, s.Accounts = append([]int{}, v.waiting...), []record.Links{}
	if v.account != nil {
		s.Accounts = append(s.Accounts, *v.account)
	}
	s.Compute, s.Wait, s.Codec = v.total.compute, v.total.wait, v.total.codec
	s.Violations, s.Repaired, s.Late = v.repairs.Violations, v.repairs.Repaired, v.late
}

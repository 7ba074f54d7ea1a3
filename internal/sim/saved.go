package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Names of the tensors of a saved run, beside those of the workers: worker3/machine/x.
const (
	runTensor      = "simulation" // a saved run as JSON
	payloadsTensor = "payloads"   // of all its frames
	workerPrefix   = "worker"
)

// A savedRun is a run without the states of its workers and the payloads of its frames.
type savedRun struct {
	Boundary
	Now     time.Duration `json:"now_ns"`
	Seq     uint64        `json:"sequence"`
	Events  int           `json:"events"`
	Workers []savedWorker `json:"workers"`
	Queue   []savedEvent  `json:"queue"`
	Past    []savedInput  `json:"past"`

	Cores  *cost.Load[savedShare] `json:"cores,omitempty"`  // nil: coding takes no time
	Faults *savedFaults           `json:"faults,omitempty"` // nil: there is no script
}

// A savedWorker is a worker apart from its machine and its gradients.
type savedWorker struct {
	Round    int                       `json:"round"`
	Ready    time.Duration             `json:"ready_ns"`
	Since    time.Duration             `json:"since_ns"` // see peer.origin
	Sent     record.Bytes              `json:"sent"`
	Received record.Bytes              `json:"received"`
	Messages record.Messages           `json:"messages"`
	Uplink   shape.Traffic[savedFrame] `json:"uplink"`
	Coding   *savedCoding              `json:"coding,omitempty"`
	Account  *work.Account             `json:"account,omitempty"`
}

// A savedEvent is an event. Its server is given by its number, see shape.Sharer.Number.
type savedEvent struct {
	At     time.Duration `json:"at_ns"`
	Seq    uint64        `json:"sequence"`
	Worker topology.Rank `json:"worker"`
	Frame  *savedFrame   `json:"frame,omitempty"`
	Server *int          `json:"server,omitempty"`
	Turn   int           `json:"turn,omitempty"`
}

// A savedInput is an input.
type savedInput struct {
	Worker topology.Rank   `json:"worker"`
	At     time.Duration   `json:"at_ns"`
	Call   gossip.CallKind `json:"call"`
	Frame  *savedFrame     `json:"frame,omitempty"`
	Peer   topology.Rank   `json:"peer,omitempty"`
	Up     bool            `json:"up,omitempty"`
}

// A savedFrame is a frame whose payload is a range of the tensor of payloads.
type savedFrame struct {
	gossip.Frame
	First  int `json:"first"`
	Bytes  int `json:"bytes"`
	Stream int `json:"stream,omitempty"`
	Wire   int `json:"wire,omitempty"`
	Link   int `json:"link,omitempty"`

	Ahead *savedFrame `json:"ahead,omitempty"`
}

// A Saved is the state of a run from which it goes on.
type Saved struct {
	run      savedRun
	payloads []byte
	workers  []*state.Snapshot
}

// Open reads the state of a run, as Take has got it.
func Open(s *state.Snapshot) (*Saved, error) {
	saved := new(Saved)
	found := false
	for _, t := range s.Tensors {
		switch t.Name {
		case runTensor:
			found = true
			if err := json.Unmarshal(t.Data, &saved.run); err != nil {
				return nil, fmt.Errorf("sim: %s: %w", t.Name, err)
			}
		case payloadsTensor:
			saved.payloads = t.Data
		}
	}
	if !found || len(saved.run.Workers) == 0 {
		return nil, fmt.Errorf("sim: the state has no %s: it is of a peer", runTensor)
	}
	if len(saved.run.Began) != len(saved.run.Workers) {
		return nil, fmt.Errorf("sim: the state of %d workers that begin %d rounds: it is of an older program: start again",
			len(saved.run.Workers), len(saved.run.Began))
	}
	for i := range saved.run.Workers {
		own := new(state.Snapshot)
		for _, t := range s.Tensors {
			if name, ok := strings.CutPrefix(t.Name, workerName(i)); ok {
				t.Name = name
				own.Tensors = append(own.Tensors, t)
			}
		}
		saved.workers = append(saved.workers, own)
	}
	return saved, nil
}

// Round returns the round before which the state was taken.
func (s *Saved) Round() int { return s.run.Round }

// Began returns the rounds that the workers begin again, by rank.
func (s *Saved) Began() []int { return s.run.Began }

// Workers returns the states of the workers before that round, by rank.
func (s *Saved) Workers() []*state.Snapshot { return s.workers }

// workerName begins the names of a worker's tensors.
func workerName(rank int) string { return fmt.Sprintf("%s%d/", workerPrefix, rank) }

// A store collects payloads. Frames that share one are stored with one.
type store struct {
	data []byte
	at   map[*byte]int // where a payload is, by its first byte
}

// frame returns the saved form of a frame.
func (s *store) frame(f *gossip.Frame) *savedFrame {
	saved := &savedFrame{Frame: *f, Bytes: len(f.Payload)}
	saved.Payload = nil
	if len(f.Payload) == 0 {
		return saved
	}
	at, known := s.at[&f.Payload[0]]
	if !known {
		at = len(s.data)
		s.at[&f.Payload[0]] = at
		s.data = append(s.data, f.Payload...)
	}
	saved.First = at
	return saved
}

// frame returns a saved frame with its payload.
func (s *Saved) frame(f *savedFrame) (gossip.Frame, error) {
	frame := f.Frame
	if f.First < 0 || f.Bytes < 0 || f.Bytes > len(s.payloads)-f.First {
		return frame, fmt.Errorf("sim: a payload of %d bytes at %d, of %d", f.Bytes, f.First, len(s.payloads))
	}
	frame.Payload = s.payloads[f.First : f.First+f.Bytes : f.First+f.Bytes]
	return frame, nil
}

// flight returns the saved form of a frame on its way.
func (s *store) flight(f *flight) savedFrame {
	saved := s.frame(&f.Frame)
	saved.Stream, saved.Wire, saved.Link = f.stream, f.wire, f.link
	if f.ahead != nil {
		first := s.flight(f.ahead)
		saved.Ahead = &first
	}
	return *saved
}

// flight returns a saved frame on its way.
func (s *Saved) flight(f savedFrame) (*flight, error) {
	frame, err := s.frame(&f)
	own := &flight{Frame: frame, stream: f.Stream, wire: f.Wire, link: f.Link}
	if err == nil && f.Ahead != nil {
		own.ahead, err = s.flight(*f.Ahead)
	}
	return own, err
}

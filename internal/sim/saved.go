package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Names of the tensors of a saved run.
const (
	runTensor      = "simulation" // a saved run as JSON, or a saved worker in the state of a worker
	payloadsTensor = "payloads"   // of all its frames
)

// A savedRun is a run without the states of its workers and the payloads of its frames.
type savedRun struct {
	Boundary
	Now     time.Duration `json:"now_ns"`
	Seq     uint64        `json:"sequence"`
	Events  int           `json:"events"`
	Rest    bool          `json:"rest,omitempty"` // rounds need no events: nothing is on its way
	Queue   []savedEvent  `json:"queue"`
	Past    []savedInput  `json:"past"`
	workers []savedWorker // see Open

	Cores  *cost.Load[savedShare] `json:"cores,omitempty"`  // nil: coding takes no time
	Faults *savedFaults           `json:"faults,omitempty"` // nil: there is no script
}

// A savedWorker is a worker apart from its machine and its gradients.
type savedWorker struct {
	Round    int                        `json:"round"`
	Ready    time.Duration              `json:"ready_ns"`
	Begun    time.Duration              `json:"begun_ns,omitempty"` // without events: when it begins its round
	Since    time.Duration              `json:"since_ns"`           // see peer.origin
	Sent     record.Bytes               `json:"sent"`
	Received record.Bytes               `json:"received"`
	Messages record.Messages            `json:"messages"`
	Uplink   *shape.Traffic[savedFrame] `json:"uplink,omitempty"` // nil without events
	Coding   *savedCoding               `json:"coding,omitempty"`
	Account  *work.Account              `json:"account,omitempty"`
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
	workers  Workers
}

// Workers are the states of all workers of a saved run.
type Workers interface {
	Len() int
	// Worker returns what a Draft was given of a worker, in memory of its own.
	Worker(rank int) (*state.Snapshot, error)
}

// An oldError says that a state is not of a run that this program can continue: of a peer, or of an older program.
type oldError struct{ Why string }

func (e *oldError) Error() string { return "sim: the state " + e.Why }

// Hint tells the user how to proceed.
func (e *oldError) Hint() string {
	return "go on with the program that wrote it, or start the run again without --resume"
}

// Open reads the state of a run, as a Draft has got it. Without workers it is nil.
func Open(s *state.Snapshot, workers Workers) (*Saved, error) {
	saved := &Saved{workers: workers}
	for _, t := range s.Tensors {
		switch t.Name {
		case runTensor:
			if err := json.Unmarshal(t.Data, &saved.run); err != nil {
				return nil, fmt.Errorf("sim: %s: %w", t.Name, err)
			}
		case payloadsTensor:
			saved.payloads = t.Data
		}
	}
	switch {
	case !slices.ContainsFunc(s.Tensors, func(t state.Tensor) bool { return t.Name == runTensor }):
		return nil, &oldError{"has no " + runTensor + ": it is of a peer"}
	case workers == nil || workers.Len() != len(saved.run.Began):
		return nil, &oldError{"has its workers in another place: it is of an older program"}
	}
	saved.run.workers = make([]savedWorker, workers.Len())
	for i := range saved.run.workers {
		own, err := workers.Worker(i)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(own.Tensors, func(t state.Tensor) bool { return t.Name == runTensor })
		if at < 0 {
			return nil, fmt.Errorf("sim: the state of worker %d has no %s", i, runTensor)
		}
		if err := json.Unmarshal(own.Tensors[at].Data, &saved.run.workers[i]); err != nil {
			return nil, fmt.Errorf("sim: worker %d: %s: %w", i, runTensor, err)
		}
	}
	return saved, nil
}

// Round returns the round before which the state was taken.
func (s *Saved) Round() int { return s.run.Round }

// Began returns the rounds that the workers begin again, by rank.
func (s *Saved) Began() []int { return s.run.Began }

// Len returns the number of workers.
func (s *Saved) Len() int { return len(s.run.workers) }

// Worker returns the state of a worker before that round.
func (s *Saved) Worker(rank int) (*state.Snapshot, error) { return s.workers.Worker(rank) }

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

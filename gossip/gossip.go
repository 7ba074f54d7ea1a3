// Package gossip is the round protocol: one deterministic state machine per worker. A driver
// gives it frames and gradients, and does what Ready asks for:
//
//	m, err := gossip.New(rank, graph.Row(rank, 0), rule, rounds)
//	for {
//		r := m.Ready()
//		send(r.Send)                               // to the neighbours' machines
//		if r.Compute {
//			loss := gradient(g, r.Round, r.At)     // of round r.Round at r.At
//			m.Gradient(g, loss, now)
//		}
//		switch {
//		case r.Failed != nil:
//			return r.Failed
//		case r.More:                               // the message of a large model travels in pieces
//			continue
//		case r.Done:
//			return nil
//		}
//		m.Receive(<-frames)
//	}
//
// The example of New is a whole driver. A Worker runs an Algorithm with rounds that all
// workers share, a PairWorker runs AD-PSGD. The packages below this one wrap a machine in
// layers that survive faults: peer puts them together.
//
// The package opens no socket, reads no clock, starts no goroutine and logs nothing. The same
// calls in the same order give the same output, bit for bit. To train over a network without a
// driver of your own, use package node.
package gossip

import (
	"errors"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// An Algorithm is one worker's update rule: the loop body of its paper.
//
// With Plan.Overlap the calls of round k are Send, Mix (for each hop), Descend;
// otherwise Descend, then Send and Mix for each hop.
type Algorithm interface {
	Model
	Plan() algos.Plan
	// Descend applies the update direction g of round k. It may use g as
	// scratch until the round ends.
	Descend(k int, g []float32) error
	// Send appends the payload of (k, hop) to dst. The algorithm may keep a
	// reference to what it appended until Mix of the same hop.
	Send(k, hop int, dst []byte) ([]byte, error)
	// Mix uses the messages of (k, hop), given in increasing rank. Their
	// payloads are read-only: others may read them, and a repair needs them
	// again. On error x_k is unchanged.
	Mix(k, hop int, in []algos.Message) (algos.Mixed, error)
}

// A Model is a worker's replica, with the size of the memory beside it.
type Model interface {
	// Params returns x_k, where the next gradient is taken.
	Params() []float32
	// ExtraMemory returns the bytes that the algorithm keeps beyond D-PSGD's.
	ExtraMemory() int
}

// A FrameKind says what a frame is for.
type FrameKind uint8

// Kinds of frames. Those from Place on have no payload; layers around a machine send and receive them.
const (
	Data    FrameKind = iota // the message of (round, hop)
	Request                  // the receiver of that message could not recover it: asks for its repair
	Repair                   // lets the receiver recover the message for certain
	Place                    // the sender is at (round, hop) and can take the messages from there on
	Durable                  // the sender keeps a checkpoint from before (round, hop) and asks for no older message
	Member                   // about an edge: hop is the statement of the sender, round the exchange
	Missing                  // the sender no longer has a repair of the message of (round, hop), which was asked for
	Bye                      // the sender sends nothing more and needs nothing more
)

// Pressing is the note of a Durable frame whose sender wants a newer checkpoint of the receiver, because the log of the
// sender has little room.
const Pressing = 1

// A Frame is one message on one directed link.
type Frame struct {
	From, To   topology.Rank
	Kind       FrameKind
	Round, Hop int
	Piece      int // of a Data, Request or Repair frame: which part of the message, from 0 on; 0 in all other kinds
	// Note is a control value sent with a Data frame. The lower half is of the Noter of lane 0, or of a Proposer. The
	// upper half is of the Noter of lane 1, or of an Agreement.
	Note    uint64
	Payload []byte // empty in a Request, and in all kinds from Place on
	Stored  Stored // of a Data frame to be sent, in place of a Payload that is not in memory; nil in others
}

// MessageBytes returns how many bytes of a message of the algorithm a frame carries. Requests and repairs carry none,
// nor do the questions of a PairWorker.
func (f *Frame) MessageBytes() int {
	if f.Kind != Data {
		return 0
	}
	return len(f.Payload)
}

// A Stored payload is on disk. Any goroutine may use it.
type Stored interface {
	// Len returns its bytes.
	Len() int
	// Read appends the payload to dst. It fails if the log has dropped the message, or the disk fails.
	Read(dst []byte) ([]byte, error)
}

// A Carrier is an algorithm whose messages codecs make. Each codec carries a lane, with its own noise and bound. A hop
// has one lane. The one hop of a Splitter may have two: the first half of its pieces is lane 0, the second half lane 1.
// The protocol serves codecs that are Verifiers or Noters.
type Carrier interface {
	// Carries returns the codecs by lane.
	Carries() []algos.Codec
}

// A Verifier is a codec that detects messages that it recovered wrongly: its Mix returns an *algos.MismatchError, and
// wants Message.Repair.
type Verifier interface {
	// Verifies reports whether the codec detects wrong messages in this run.
	Verifies() bool
	// AppendRepair appends the data with which a receiver recovers a piece of the message of round k for certain. The
	// receiver has asked for it with the data of its MismatchError; nil asks for a repair that serves any receiver.
	// AppendRepair reports whether the repair is still known and the data sound: the codec keeps it for the last two
	// rounds that it encoded.
	AppendRepair(dst []byte, k, piece int, asked []byte) ([]byte, bool)
	// ExtraMemory returns the bytes kept for repairs.
	ExtraMemory() int
}

// A Noter is a codec whose notes on frames let all workers agree on a value, such as θ.
type Noter interface {
	// Note returns the note for the messages of round k.
	Note(k int) uint32
	// Mixed takes the result of mixing round k: the neighbours' notes, the observations, and the number of messages
	// that needed a repair.
	Mixed(k int, notes []uint32, saw algos.Mixed, repaired int)
}

// A Proposer is the codec of a link of AD-PSGD. The worker that offers an exchange decides with it how both models
// travel.
type Proposer interface {
	// Propose returns the note for the offer of an exchange. clock is the mean number of steps that a worker has done.
	Propose(number, clock int) uint32
	// Heed applies the note of the other end's offer before the worker answers. An error says why it cannot.
	Heed(number int, note uint32) error
	// Ended takes the result of an exchange that this worker offered: the observations, and how many of its two
	// messages needed a repair. An exchange that was declined after a repair has no observations. Offers whose link
	// broke are not reported.
	Ended(number int, saw algos.Mixed, repaired int)
}

// A Local algorithm can take gradient steps between exchanges.
type Local interface {
	// Local applies the update direction g of round k, which has no exchange. It may use g as scratch.
	Local(k int, g []float32) error
}

// Ready is the work a driver must do before it calls the Machine again.
type Ready struct {
	// Send lists frames in the order to send them per link. A payload stays unchanged until its receiver has used it,
	// so that a driver may send without copying. The driver drops frames for a peer without a link; Link asks for them
	// again.
	Send []Frame
	// Compute asks for the update direction of round Round at the point At,
	// which is not modified before Gradient is called.
	Compute bool
	At      []float32
	Round   int
	// Hop is the message of the round to mix next; 0 without rounds.
	Hop int
	// Spent lists payloads given to Receive that the machine no longer needs.
	Spent [][]byte
	// Waiting lists the neighbours whose frames the current hop lacks, in increasing rank, once all local work is done.
	Waiting []topology.Rank
	// Done says that all rounds are over. Frames may still have to be sent.
	Done bool

	// More asks for another call of Ready as soon as Send is handed over, before any event.
	More bool
	// Failed says why this call, or a layer for good, has failed; nil while it works. Like the error of other calls, a
	// *algos.MessageError is about one message and does not end the worker.
	Failed error

	// Layers around a machine fill the following fields; a machine leaves them empty.

	// Control lists actions on links. The driver does them before Send.
	Control []Control
	// Notes lists events for the user.
	Notes []Note
	// Owed lists the neighbours to which this worker still has to deliver messages that exist already.
	Owed []topology.Rank
}

// Reasons for which Receive refuses a frame. The machine is unchanged and the run goes on; a driver counts them.
var (
	ErrStale      = errors.New("gossip: frame of a finished exchange")
	ErrDuplicate  = errors.New("gossip: frame already received")
	ErrEarly      = errors.New("gossip: frame too far ahead")
	ErrStranger   = errors.New("gossip: frame from a worker that is no neighbour")
	ErrNoSuchHop  = errors.New("gossip: frame of an exchange that the run does not have")
	ErrNoSuchEdge = errors.New("gossip: frame about an edge that the run does not have")
	ErrUnasked    = errors.New("gossip: repair that no request asked for, or request for a repair that is not available")
)

// Refusal reports whether err is one of these reasons.
func Refusal(err error) bool {
	for _, reason := range []error{
		ErrStale, ErrDuplicate, ErrEarly, ErrStranger, ErrNoSuchHop, ErrNoSuchEdge, ErrUnasked,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// A Core is the common part of a machine and the layers around it. It is not safe for concurrent use. The slices of a
// Ready are valid until the next call of Ready.
type Core interface {
	Ready() Ready
	// Gradient reports the update direction that Ready.Compute asked for, the loss of its mini-batch, and the driver's
	// time since the run began. The machine owns g until it asks for the next one and may overwrite it. Only a choice
	// of bits may depend on loss and now.
	Gradient(g []float32, loss float32, now time.Duration) error
	// Receive takes a frame, which may be early, late or a duplicate. It owns the payload unless it refuses the frame
	// with one of the reasons above. A payload may prove unusable only when its round is mixed. Then the call that
	// mixes returns *algos.MessageError and forgets the frame; Spent lists the payload, and the frame may be received
	// again.
	Receive(f Frame) error
	Pacer
	View
	// State shows the state that the machine carries from round to round, see Resume.
	state.Keeper
}

// A Machine is one worker's side of the protocol.
type Machine interface {
	Core
	// Link reports that frames to peer may have been lost. If up, a new link is there, and the machine sends the frames
	// again that peer may still need. The driver must have dropped all frames for the old link before.
	Link(peer topology.Rank, up bool)
}

// A Pacer can be observed and stopped between two rounds.
type Pacer interface {
	// AtBoundary makes the machine call hook before it begins a round k > 0, and after the last. No gradient is
	// outstanding then, and hook may take the state.
	AtBoundary(hook func(k int))
	// Hold keeps the machine from beginning another round and returns the number of rounds that it has begun. End sets
	// the number of rounds of the run and lets the machine go on. That number is the largest that any worker has begun
	// when all hold. Where workers share no rounds, Hold alone ends the run: each worker ends where it is.
	Hold() (begun int)
	End(rounds int) error
}

// A View shows the progress of a worker.
type View interface {
	Model
	// Mixed returns the observations of the last finished mixing.
	Mixed() algos.Mixed
}

// Together calls work for each part from 0 to parts−1, several at the same time, and returns when all calls have
// returned.
type Together func(parts int, work func(part int))

// A Parallel machine can use several cores at the same time. It starts no goroutine: its driver supplies them.
type Parallel interface {
	// Use makes the machine do work by t that needs no order. Nothing that it computes changes.
	Use(t Together)
}

// A Lender owns the memory of payloads. One goroutine calls it, others may have what it lends.
type Lender interface {
	// Get returns a buffer of n bytes with arbitrary content, nil if n is 0.
	Get(n int) []byte
	// Put takes a buffer back, which nothing uses any more. It need not come from Get.
	Put(b []byte)
}

// A Borrower is a machine that can take the buffers of its messages from its driver. With messages in the driver's
// memory the same buffers then serve for sent and for received messages.
type Borrower interface {
	// Borrow takes buffers from l from now on. The state of the machine may then lack the last message, if all receivers
	// have mixed it: a worker that comes back needs it from a log.
	Borrow(l Lender)
}

// A Logged machine need not send a message twice: a layer around it has a log of them, and sends them over a new link.
type Logged interface {
	// Log says that there is a log. It comes before the first link.
	Log()
}

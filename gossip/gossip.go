// Package gossip is the round protocol: one deterministic state machine per worker. A driver
// gives it frames and gradients, and does what Ready asks for:
//
//	m, err := gossip.New(rank, graph.Row(rank), rule, rounds)
//	for {
//		r := m.Ready()
//		send(r.Send)                               // to the neighbours' machines
//		if r.Compute {
//			loss := gradient(g, r.Round, r.At)     // of round r.Round at r.At
//			m.Gradient(g, loss, now)
//		}
//		if r.Done {
//			break
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
	// Mix uses the messages of (k, hop), given in increasing rank. On error
	// x_k is unchanged.
	Mix(k, hop int, in []algos.Message) (algos.Mixed, error)
}

// A Model is a worker's replica and what is kept beside it.
type Model interface {
	// Params returns x_k, where the next gradient is taken.
	Params() []float32
	// ExtraMemory returns the bytes that the algorithm keeps beyond D-PSGD's.
	ExtraMemory() int
}

// A FrameKind says what a frame is for.
type FrameKind uint8

// Kinds of frames. Those from Place on have no payload; layers around a machine send and take them.
const (
	Data    FrameKind = iota // the message of (round, hop)
	Request                  // the receiver of that message could not recover it: asks for its repair
	Repair                   // what makes the message certain
	Place                    // the sender is at (round, hop) and can take the messages from there on
	Durable                  // the sender keeps a checkpoint from before (round, hop) and asks for nothing older
	Member                   // about an edge: hop is what the sender says of it, round the exchange
	Bye                      // the sender has sent all that it will, and needs nothing more
)

// A Frame is one message on one directed link.
type Frame struct {
	From, To   topology.Rank
	Kind       FrameKind
	Round, Hop int
	// of a Data frame: what is told besides the message: the lower half by a Noter or Proposer, the upper by an Agreement
	Note    uint64
	Payload []byte // empty in a Request, and in all kinds from Place on
}

// A Carrier is an algorithm whose messages codecs make. The message of hop h is lane h:
// it has a codec of its own, with noise and a bound of its own. If a codec is a Verifier
// or a Noter, the protocol serves it.
type Carrier interface {
	// Carries returns the codecs by lane, one for every hop.
	Carries() []algos.Codec
}

// A Verifier is a codec that recognises a message which it recovered wrongly:
// its Mix returns an *algos.MismatchError, and wants Message.Repair.
type Verifier interface {
	// Verifies reports whether it does so in this run.
	Verifies() bool
	// AppendRepair appends what a receiver needs besides the message of round k
	// to recover it for certain, and reports whether that is still known: it is
	// for the last two rounds that were encoded.
	AppendRepair(dst []byte, k int) ([]byte, bool)
	// ExtraMemory returns the bytes kept for that.
	ExtraMemory() int
}

// A Noter is a codec that lets all workers agree on something by what it adds to
// the frames.
type Noter interface {
	// Note returns what to send with the messages of round k.
	Note(k int) uint32
	// Mixed reports what the mixing of round k saw: the neighbours' notes, and
	// how many of their messages had to be repaired.
	Mixed(k int, notes []uint32, saw algos.Mixed, repaired int)
}

// A Proposer is the codec of a link of AD-PSGD, with which the worker that offers
// an exchange decides how both models travel in it.
type Proposer interface {
	// Propose returns what to tell with the offer of an exchange, clock being
	// the number of steps that a worker has done on average.
	Propose(number, clock int) uint32
	// Heed takes over what the other end has told with its offer, before that is
	// answered, or says why it cannot.
	Heed(number int, note uint32) error
	// Ended reports what an exchange offered here saw, and how many of its two
	// messages had to be repaired; one that was declined after a repair saw
	// nothing. It is not called for offers whose link broke.
	Ended(number int, saw algos.Mixed, repaired int)
}

// A Local algorithm can take gradient steps between exchanges.
type Local interface {
	// Local applies the update direction g of round k, in which nothing is
	// exchanged. It may use g as scratch.
	Local(k int, g []float32) error
}

// Ready is the work a driver must do before it calls the Machine again.
type Ready struct {
	// Send lists frames in the order to send them per link. A payload stays
	// unchanged until its receiver has used it, so that a driver may send
	// without copying; frames for a peer without a link are dropped, Link
	// asks for them again.
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
	// Waiting lists the neighbours whose frames the current hop lacks, in
	// increasing rank, once everything local is done.
	Waiting []topology.Rank
	// Done says that all rounds are over. Frames may still have to be sent.
	Done bool

	// Layers around a machine ask for the following; a machine leaves it empty.

	// Control lists what is to be done with links, before Send.
	Control []Control
	// Notes lists what people should know.
	Notes []Note
	// Owed lists neighbours that lack messages which are there.
	Owed []topology.Rank
	// More asks for another call of Ready as soon as Send is handed over.
	More bool
	// Failed says why the layer has stopped for good; nil while it works.
	Failed error
}

// Reasons for which Receive refuses a frame. The machine is unchanged and the
// run goes on; a driver counts them.
var (
	ErrStale     = errors.New("gossip: frame of a finished exchange")
	ErrDuplicate = errors.New("gossip: frame already received")
	ErrEarly     = errors.New("gossip: frame too far ahead")
	ErrStranger  = errors.New("gossip: frame from a worker that is no neighbour")
	ErrNoSuchHop = errors.New("gossip: frame of an exchange that the run does not have")
	ErrUnasked   = errors.New("gossip: repair that nobody asked for, or that is not to be had")
)

// Refusal reports whether err is one of these reasons.
func Refusal(err error) bool {
	for _, reason := range []error{ErrStale, ErrDuplicate, ErrEarly, ErrStranger, ErrNoSuchHop, ErrUnasked} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// A Core is what a machine and the layers around it have in common. It is not safe
// for concurrent use; the slices of a Ready are valid until the next call of Ready.
type Core interface {
	Ready() Ready
	// Gradient reports the update direction asked for by Ready.Compute, the loss
	// of the mini-batch that it was taken on, and the driver's time since the run
	// began. The machine owns g until it asks for the next one and may overwrite
	// it. Nothing but a choice of bits may depend on loss and now.
	Gradient(g []float32, loss float32, now time.Duration) error
	// Receive reports a frame, early, late or duplicate, and takes ownership
	// of its payload unless it refuses the frame with one of the reasons
	// above. A frame whose payload turns out to be unusable when its round is
	// mixed is reported as *algos.MessageError by whichever call mixes; the
	// frame is forgotten, its payload is in Spent, and it may be received anew.
	Receive(f Frame) error
	Pacer
	View
	// State shows what the machine carries from round to round, see Resume.
	state.Keeper
}

// A Machine is one worker's side of the protocol.
type Machine interface {
	Core
	// Link reports that frames to peer may have been lost (up after a new
	// link was made): the frames that peer may still need are sent again. By
	// then the driver has let go of all frames meant for the old link.
	Link(peer topology.Rank, up bool)
}

// A Pacer can be watched and held between two rounds.
type Pacer interface {
	// AtBoundary makes the machine call hook before it begins a round k > 0, and
	// after the last. No gradient is outstanding then, and hook may take the state.
	AtBoundary(hook func(k int))
	// Hold keeps the machine from beginning another round and returns how many it
	// has begun. End makes the run one of so many rounds, which is the most that any
	// worker has begun when all hold still, and lets it go on to them. Where workers
	// share no rounds Hold alone is the end: each ends where it is.
	Hold() (begun int)
	End(rounds int) error
}

// A View shows how a worker is doing.
type View interface {
	Model
	// Mixed returns what the last finished mixing saw.
	Mixed() algos.Mixed
}

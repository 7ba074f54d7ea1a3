// Package budget computes how many bytes the process of one worker takes, by owner, before the worker allocates any.
//
// It counts the most that an owner holds at a time. Memory that the kernel can take back, such as cached files, does
// not count.
package budget

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/human"
)

const (
	floatBytes = 4
	mega       = 1 << 20

	// MostCopied is the largest state that a worker with checkpoints copies in memory.
	MostCopied = 32 * mega
	// place is the memory of a journal for a piece of a message, whose bytes are on disk. Old places go with each
	// checkpoint, so that they hardly exceed mostPlaces. While the disk is full a journal also keeps up to 64 MiB of
	// messages.
	place, piece, mostPlaces = 128, 64 << 10, 16 * mega
	// mostGarbage is how much memory without an owner a process lets come together before it is collected.
	mostGarbage = 24 * mega
	// mostAhead is the largest size of all messages of an exchange that may be there before their turn.
	mostAhead = 8 * mega
	// perLink are the buffers of the connection to a neighbour: windows, records, frames on their way.
	perLink = 4 * mega
	// ofProgram are the program itself, the runtime and its libraries.
	ofProgram = 40 * mega
	// draft are the buffers through which a large state goes to disk.
	draft = mega
)

// Owners of memory.
const (
	Model       = "model"
	Gradient    = "gradient"
	Momentum    = "momentum"
	Algorithm   = "algorithm"
	Shared      = "shared"
	Sent        = "sent"
	Received    = "received"
	Repairs     = "repairs"
	Checkpoint  = "checkpoint"
	Journal     = "journal"
	Activations = "activations"
	Data        = "data"
	Links       = "links"
	Garbage     = "garbage"
	Runtime     = "runtime"
)

// A Worker has the sizes from which the memory of a worker follows.
type Worker struct {
	Parameters int  // elements of the model
	Moments    int  // vectors of its optimizer
	Part       int  // elements of the gradient that are in memory at a time; 0: all
	Vectors    int  // vectors of the length of the model that its algorithm keeps beside the model
	External   bool // a script trains the model, which it shares with the worker
	Payload    int  // bytes of a message
	Slots      int  // messages that the worker keeps until all receivers have them
	Ahead      int  // messages of one neighbour that may be there before they are used
	Pieces     bool // messages are in pieces, which can wait in the stream for their turn
	Neighbours int  // that the worker hears
	Repair     int  // bytes of a message's repair
	Keeping
	Rounds      int   // of the run
	Activations int64 // bytes of activations, their gradients, and packed weights
	Data        int64 // bytes of its samples and of the test samples
}

// A Keeping is what a worker keeps on disk while it trains.
type Keeping struct {
	Keeps   bool  // it takes checkpoints, and keeps a journal
	Kept    int   // checkpoints that it keeps
	Longest int64 // bytes that the journal may have at most; 0: as many as usual
	Hops    int   // messages of an exchange that a journal keeps; 0: there is no journal
	Steps   int   // rounds to an exchange
}

// An Item is what one owner takes.
type Item struct {
	Owner string `json:"owner"`
	Bytes int64  `json:"bytes"`
	What  string `json:"what"`

	less string // the setting that makes the item smaller; "" if there is none
}

// A Plan lists what the process of a worker takes. Owners that take nothing are left out.
type Plan []Item

// Plan returns the plan of a worker, the items of its model first.
func (w Worker) Plan() Plan {
	var p Plan
	vector, payload := floatBytes*int64(w.Parameters), int64(w.Payload)
	p.add(Model, vector, "the parameters x", "a smaller model")
	if w.External {
		p.add(Shared, vector, "the vector that the script and the worker share", "a smaller model")
	}
	if w.Part > 0 {
		p.add(Gradient, floatBytes*int64(w.Part), "a part of the gradient, on its way to the momentum", "")
	} else {
		p.add(Gradient, vector, "the update direction of a round", "a smaller model")
	}
	switch w.Moments {
	case 0:
	case 1:
		p.add(Momentum, vector, "m of heavy-ball momentum", "train.momentum: 0")
	default:
		p.add(Momentum, int64(w.Moments)*vector, "m and v of adamw", "train.optimizer.name: lion or sgd")
	}
	p.add(Algorithm, int64(w.Vectors)*vector, vectors(w.Vectors)+" of the algorithm", "algorithm.name: dpsgd")
	if w.Pieces && InTurn(w.Neighbours, w.Payload) {
		p.add(Sent, int64(w.Slots)*payload,
			"the message of the round, and the one before until all neighbours have begun theirs", fewerBits)
		p.add(Received, int64(w.Neighbours)*payload,
			fmt.Sprintf("a message from each of %d neighbours, or the message that it has not used yet", w.Neighbours),
			fewerBits)
	} else {
		p.add(Sent, int64(w.Slots)*payload, fmt.Sprintf("the last %d messages sent", w.Slots), fewerBits)
		p.add(Received, int64(w.Neighbours*w.Ahead)*payload,
			fmt.Sprintf("up to %d messages from each of %d neighbours", w.Ahead, w.Neighbours), fewerBits)
	}
	p.add(Repairs, int64(w.Slots*w.Repair), "quotients of the indices sent", "algorithm.theta.verify: false")
	if w.Keeps {
		p.add(Checkpoint, w.checkpoint(vector), "a copy of the state, or the buffers of its way to disk",
			"checkpoint: {every: 0, seconds: 0}")
		p.add(Journal, min(mostPlaces, int64(w.Rounds)*(payload/piece+1)*place),
			"places of messages on disk, for neighbours that come back", "")
	}
	p.add(Activations, w.Activations, "values of a batch between layers, and packed weights", "a smaller train.batch")
	p.add(Data, w.Data, "training samples of the worker, and the test samples", "")
	p.add(Links, int64(w.Neighbours)*perLink, "buffers of connections", "")
	p.add(Garbage, garbage(p.Total()), "what the garbage collector has not freed yet", "GOGC")
	p.add(Runtime, ofProgram, "the program and its libraries", "")
	return p
}

// InTurn reports whether a worker reads the messages of its neighbours in turn. Those of a later exchange wait in the
// stream then, because together they are too large for memory.
func InTurn(neighbours, message int) bool { return neighbours*message > mostAhead }

const fewerBits = "a smaller algorithm.bits"

// checkpoint returns the bytes of a checkpoint in memory. A state is a model, its moments and what the algorithm
// keeps.
func (w Worker) checkpoint(vector int64) int64 {
	state := vector * int64(1+w.Vectors+w.Moments)
	if state <= MostCopied || w.External {
		return state
	}
	return draft
}

func vectors(n int) string {
	if n == 1 {
		return "one vector"
	}
	return fmt.Sprintf("%d vectors", n)
}

func (p *Plan) add(owner string, bytes int64, what, less string) {
	if bytes > 0 {
		*p = append(*p, Item{owner, bytes, what, less})
	}
}

// Add adds the items of another plan to those of the same owners.
func (p *Plan) Add(other Plan) {
	for _, i := range other {
		if at := slices.IndexFunc(*p, func(own Item) bool { return own.Owner == i.Owner }); at >= 0 {
			(*p)[at].Bytes += i.Bytes
		} else if i.Bytes > 0 {
			*p = append(*p, i)
		}
	}
}

// Total returns the bytes of all owners.
func (p Plan) Total() int64 {
	sum := int64(0)
	for _, i := range p {
		sum += i.Bytes
	}
	return sum
}

// Of returns the bytes of one owner, 0 if it has none.
func (p Plan) Of(owner string) int64 {
	at := slices.IndexFunc(p, func(i Item) bool { return i.Owner == owner })
	if at < 0 {
		return 0
	}
	return p[at].Bytes
}

// garbage returns how much garbage may gather beside live bytes. Large heaps are models and messages:
// vectors without pointers, which cost the collector nothing, in rounds that are long and make hardly any garbage.
func garbage(live int64) int64 {
	if live < 10*mostGarbage {
		return min(live, mostGarbage)
	}
	return max(mostGarbage/2, live/100)
}

// Percent returns the percentage of the live heap that garbage may reach before it is collected. It is 100 for small
// heaps, as the runtime's own. A large heap hardly changes, and has no pointers, so that one per cent costs no time.
func (p Plan) Percent() int {
	live := p.Total() - p.Of(Garbage) - p.Of(Runtime)
	return max(1, int(100*p.Of(Garbage)/max(1, live)))
}

// Warning says that workers with these plans need more than the memory of their machine, which is known if it is not 0.
// It names the largest owners and what makes them smaller. It is "" if there is room.
func Warning(plans []Plan, memory int64) string {
	need, largest := int64(0), Plan(nil)
	for _, p := range plans {
		need += p.Total()
		if p.Total() > largest.Total() {
			largest = p
		}
	}
	if memory == 0 || need <= memory {
		return ""
	}
	owners := slices.Clone(largest)
	slices.SortStableFunc(owners, func(a, b Item) int { return int(b.Bytes - a.Bytes) })
	var names, fixes []string
	for _, i := range owners[:min(3, len(owners))] {
		names = append(names, fmt.Sprintf("%s (%s)", i.Owner, human.Size(i.Bytes)))
	}
	for _, i := range owners {
		if i.less != "" && !slices.Contains(fixes, i.less) && len(fixes) < 3 {
			fixes = append(fixes, i.less)
		}
	}
	return fmt.Sprintf("the peers on this machine take up to %s of memory, and %s are left: the largest owners in a peer "+
		"are %s; %s takes less, and so do fewer peers", human.Size(need), human.Size(memory), strings.Join(names, ", "),
		strings.Join(fixes, ", or "))
}

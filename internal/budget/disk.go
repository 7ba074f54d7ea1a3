package budget

import "fmt"

// Owners of disks, beside Model, Checkpoint and Journal.
const (
	Average = "average"
	Start   = "start"
	Record  = "record"
)

const (
	// growth is by how much a journal grows between two small checkpoints. A larger checkpoint is taken when the journal
	// has grown by its size, so that checkpoints are at most half of all writing.
	growth = 16 << 20
	// intervals are those between checkpoints that a journal can have messages of. Neighbours may go back to the last but
	// one of theirs, and grow by one interval until the next is on disk. The last one is a file that is not over yet.
	intervals = 4
	// room is the share of the free space that the journals of all peers on a disk may take: one part in room.
	room = 2
)

// State returns the bytes of a checkpoint at most: a model, its moments, what the algorithm keeps, the last messages
// with their repairs, and small things.
func (w Worker) State() int64 {
	const rest = 16 << 10
	vectors := floatBytes * int64(w.Parameters) * int64(1+w.Vectors+w.Moments)
	return vectors + int64(w.Slots)*int64(w.Payload+w.Repair) + rest
}

// Growth returns by how many bytes the journal of a worker may grow between two checkpoints.
func (w Worker) Growth() int64 {
	if w.Longest > 0 {
		return max(1, w.Longest/intervals)
	}
	return max(growth, w.State())
}

// GrowthIn is Growth on a disk with free bytes for the journals of some workers. These bytes include the present
// journals. With little room there is a checkpoint in nearly every round.
func (w Worker) GrowthIn(free int64, workers int) int64 {
	share := free / int64(room*max(1, workers)*intervals)
	return min(w.Growth(), max(share, w.exchange()))
}

// Longest returns the bytes of a journal with checkpoints at this growth.
func Longest(growth int64) int64 { return intervals * growth }

// Slack returns the bytes of disk that a worker sets aside for the messages of a few rounds. On a full disk it sends
// them before it comes to a boundary and takes a checkpoint.
func (w Worker) Slack() int64 { return leastMessages * w.exchange() }

// leastMessages are the exchanges whose messages a journal has room for at least.
const leastMessages = 4

// exchange returns the bytes that a journal takes for one exchange.
func (w Worker) exchange() int64 {
	const header, pieces = 32, 64 << 10
	return int64(max(1, w.Hops)) * int64(w.Payload+header*(w.Payload/pieces+1))
}

// Least returns the bytes of disk without which a worker cannot keep its state: two checkpoints, because the new one is
// written beside the old one, and some messages.
func (w Worker) Least() int64 {
	if !w.Keeps {
		return 0
	}
	return 2*w.State() + 2*w.Slack()
}

// Stored returns what a worker takes on disks, by owner.
func (w Worker) Stored() (p Plan) {
	p.add(Model, floatBytes*int64(w.Parameters), "the final model", "a smaller model")
	if !w.Keeps {
		return p
	}
	p.add(Checkpoint, int64(max(1, w.Kept)+1)*w.State(),
		fmt.Sprintf("the last %d, and room for the next one", max(1, w.Kept)), "checkpoint.keep: 1")
	if w.Hops > 0 {
		all := w.exchange() * int64(w.Rounds/max(1, w.Steps))
		p.add(Journal, min(all, Longest(w.Growth()))+w.Slack(), "messages sent, for neighbours that come back",
			"checkpoint.journal")
	}
	return p
}

package gossip

// Slots describes how a synchronous run numbers its exchanges, from 0 on.
type Slots struct {
	Every int // rounds to one exchange, ≥ 1
	Hops  int // messages of an exchange to each neighbour, ≥ 0
	Lead  int // slots that a worker can be ahead of a worker it sends to, ≥ 1
	// Pieces is the number of frames that a message travels in, the same in all slots; 0 means 1.
	Pieces int
}

// Parts returns the number of pieces of a message, ≥ 1.
func (s Slots) Parts() int { return max(1, s.Pieces) }

// Of returns the number of the first exchange that is not over at hop hop of round round.
func (s Slots) Of(round, hop int) int { return round/s.Every*s.Hops + hop }

// At returns f as a frame about a slot.
func (s Slots) At(f Frame, slot int) Frame {
	if s.Hops > 0 {
		f.Round, f.Hop = slot/s.Hops*s.Every, slot%s.Hops
	}
	return f
}

// Slots returns the numbering of this worker's exchanges.
func (w *Worker) Slots() Slots {
	return Slots{Every: w.schedule.Every, Hops: w.plan.Hops, Lead: w.plan.Lead, Pieces: w.alg.pieces}
}

// A Numbered machine has exchanges that all workers count alike.
type Numbered interface {
	Slots() Slots
}

// SlotsOf returns the numbering of the exchanges of m. A machine that is not Numbered counts its own steps.
func SlotsOf(m Machine) Slots {
	if n, ok := m.(Numbered); ok {
		return n.Slots()
	}
	return Slots{Every: 1, Hops: 1, Lead: 1}
}

package work

import (
	"encoding/hex"

	"gossiptrainer/internal/record"
)

// Recorded reports whether the end of round k, one of 1 to Rounds, goes on record. The last round does, unless there is
// no record at all.
func (t *Task) Recorded(k int) bool {
	return t.Every > 0 && (k%t.Every == 0 || k == t.Rounds)
}

// Step completes the record of the round that the machine has just finished. The
// driver has filled in Round, the loss and what it measures: times, bytes, messages.
func (t *Task) Step(measured record.Step) record.Step {
	mixed := t.Machine.Mixed()
	s := measured
	s.Rank, s.Gap, s.Moved = int(t.Rank), float64(mixed.Gap), mixed.Moved
	s.Effective = s.Messages.Bits(t.Parameters)
	if t.Theta != nil {
		s.Theta = t.Theta(s.Round - 1)
	}
	if t.Bits != nil {
		s.Bits = t.Bits(s.Round - 1)
	}
	return s
}

// Final completes the result of a worker after its last round. The driver has filled in Rounds and its measurements.
// Figures that need a test set are not in it.
func (t *Task) Final(measured record.Final) record.Final {
	digest := record.Digest(t.Machine.Params())
	f := measured
	f.Rank, f.Digest = int(t.Rank), hex.EncodeToString(digest[:])
	f.ExtraMemory = int64(t.Machine.ExtraMemory())
	return f
}

package algos

import (
	"math"

	"gossiptrainer/internal/kernel"
)

// The models of all workers of a run that are in one memory can be rows of one array. A stack of messages lets the
// workers mix them there. It has the arithmetic of the codec whose messages it replaces, bit for bit.

// Models are those of all workers, by rank.
type Models struct {
	Rows    [2]Rows      // of round k in Rows[k mod 2]
	Largest [2][]float32 // their largest magnitudes, beside them
}

// A Stack holds the messages of all workers of a round. Encode, Sure and Mix may be called for several workers at the
// same time, but each only when the one before is over for all workers.
type Stack interface {
	// Begin begins round k, whose models are there. It reports false where some worker needs another codec.
	Begin(k int) bool
	// Encode makes the message of a worker. It fails where the codec does.
	Encode(worker int) error
	// Sure reports whether the worker is sure to recover the messages of its neighbours, as all workers must be.
	Sure(worker int, p Passage) bool
	// Mix gives the worker its next model.
	Mix(worker int, p Passage) Passed
	// Leave brings the codec of a worker to the beginning of round k. It returns the notes of its last two messages,
	// the newer one first.
	Leave(worker, k int) [2]uint32
}

// A Stacker is a codec with a stack.
type Stacker interface {
	// Stack returns a stack of the codecs of all workers. This one is the first of them. Without a stack it returns nil.
	Stack(all []Codec, models *Models) Stack
}

// A Passage is the way of a worker through a round.
type Passage struct {
	Next, X, G []float32 // rows with what fills them up: x_{k+1}, x_k and the direction
	From       []int32   // the neighbours
	At         []int     // beside From: where their rows begin, in bytes
	Weights    []float32 // beside From
	Step       float32   // of the direction: −α_k
}

// Passed is what a worker has seen in a round.
type Passed struct {
	Mixed
	Next float32 // the largest magnitude of its next model
}

// Stack returns the stack of workers that send whole models.
func (f Full) Stack(all []Codec, models *Models) Stack {
	for _, c := range all {
		if other, ok := c.(Full); !ok || other != f {
			return nil
		}
	}
	if f.Pieces(models.Rows[0].Dim) > 1 {
		return nil
	}
	return &stackedRound{Models: models}
}

// A stackedRound is a round in full precision: models are messages.
type stackedRound struct {
	*Models
	now int
}

// Begin implements Stack.
func (s *stackedRound) Begin(k int) bool {
	s.now = k % 2
	return true
}

// Encode implements Stack. Models have been found finite when they were made.
func (s *stackedRound) Encode(int) error { return nil }

// Sure implements Stack.
func (s *stackedRound) Sure(int, Passage) bool { return true }

// Mix implements Stack.
func (s *stackedRound) Mix(_ int, p Passage) Passed {
	saw := kernel.MixRows(kernel.Best(), s.Rows[s.now].Data, kernel.Pass{
		Next: p.Next, X: p.X, G: p.G, At: p.At, Weights: p.Weights, Step: p.Step,
	})
	largest := float32(0)
	for _, from := range p.From {
		largest = max(largest, s.Largest[s.now][from])
	}
	return Passed{
		Mixed: Mixed{Gap: math.Float32frombits(saw.Far), Moved: saw.Moved, Largest: largest},
		Next:  math.Float32frombits(saw.Largest),
	}
}

// Leave implements Stack.
func (s *stackedRound) Leave(int, int) [2]uint32 { return [2]uint32{} }

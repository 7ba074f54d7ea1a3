package conformance

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A thetaRule chooses θ of a lane.
type thetaRule int

const (
	following thetaRule = iota // the gaps of all workers, which only a test knows at once
	adaptive                   // the rule of the program
)

// A lane is what the codecs of all workers for one of their messages share.
type lane struct {
	graph  *topology.Graph
	number int
	every  int
	bits   int     // 0: full precision
	unit   float64 // of θ, under the rule adaptive

	sent [][][]float32 // messages by round and worker, before encoding
	gaps []float64     // by round: the largest between workers that met; 0: not computed yet
}

// codec returns the codec of a worker.
func (l *lane) codec(t *testing.T, rank topology.Rank, rule thetaRule) algos.Codec {
	t.Helper()
	if l.bits == 0 {
		return algos.Full{}
	}
	seed := uint64(1)
	if l.number > 0 {
		seed = rng.Stream(seed, 1<<31-16-l.number)
	}
	levels := 1 << l.bits
	c, err := moniqua.New(levels, moniqua.Dither, l.theta, seed, rank)
	if rule == adaptive {
		grid := moniqua.Grid{Theta: 1, Levels: levels, Rounding: moniqua.Dither}
		var control *moniqua.Control
		control, err = moniqua.Adaptive(moniqua.ControlPlan{
			Diameter: l.graph.Reach(), Every: l.every, Start: 2, Step: grid.Step(),
			Unit: func(int) float64 { return l.unit },
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err = moniqua.NewControlled(levels, moniqua.Dither, control, seed, rank)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Verify = true
	c.Behind(l.graph.Sequence(rank).Ahead())
	return &told{c, l}
}

// theta returns the bound of round k. Workers in round k know all messages from before round k − reach.
func (l *lane) theta(k int) float64 {
	const room, finest = 1.5, 1e-6 // a finer grid would be finer than float32
	reach, most := l.graph.Reach(), 0.0
	for known := max(0, k-2*reach-1); known < k-reach; known++ {
		most = max(most, l.gap(known))
	}
	if most == 0 { // nothing is known: repairs make up for a bound that is too small
		return 1
	}
	return max(room*most, finest)
}

// gap returns the largest difference between messages of workers that met in round k.
func (l *lane) gap(k int) float64 {
	if l.gaps[k] > 0 {
		return l.gaps[k]
	}
	for i, x := range l.sent[k] {
		for _, e := range l.graph.Row(topology.Rank(i), k/l.every).In {
			l.gaps[k] = max(l.gaps[k], float64(distance(x, l.sent[k][e.Peer])))
		}
	}
	return l.gaps[k]
}

// A told codec tells its lane what it encodes.
type told struct {
	*moniqua.Codec
	lane *lane
}

// Encode encodes a whole message.
func (c *told) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	c.lane.tell(k, c.Rank, x)
	return c.Codec.Encode(dst, k, x)
}

// EncodePiece encodes a message of one piece, as all messages here are.
func (c *told) EncodePiece(dst []byte, k, piece int, x []float32) ([]byte, error) {
	c.lane.tell(k, c.Rank, x)
	return c.Codec.EncodePiece(dst, k, piece, x)
}

func (l *lane) tell(k int, rank topology.Rank, x []float32) {
	for len(l.sent) <= k {
		l.sent, l.gaps = append(l.sent, make([][]float32, l.graph.N())), append(l.gaps, 0)
	}
	l.sent[k][rank] = slices.Clone(x)
}

// distance returns |x − y|_∞.
func distance(x, y []float32) float64 {
	most := 0.0
	for i := range x {
		most = max(most, math.Abs(float64(x[i])-float64(y[i])))
	}
	return most
}

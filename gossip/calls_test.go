package gossip_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/vec"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A caller calls a machine as no driver does. Calls come in any order. The machine did not ask for the gradients, and
// no worker has sent the frames.
type caller struct {
	t     *testing.T
	m     gossip.Machine
	data  []byte
	owned int // payloads that the machine owns
}

const (
	called     = 5 // the rank of the machine
	callRounds = 6
	callDim    = 40
	wellFormed = 4 * callDim // bytes of a model in full precision
)

// byte returns the next choice, 0 at the end.
func (c *caller) byte() int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b)
}

// act makes one call. It reports whether the model is still within sane bounds, because the machine believes lies that
// grow from round to round.
func (c *caller) act() bool {
	before := slices.Clone(c.m.Params())
	var err error
	unchanged := false
	switch c.byte() % 8 {
	case 0, 1:
		r := c.m.Ready()
		c.owned -= len(r.Spent)
	case 2, 3:
		err = c.m.Gradient(c.gradient(&unchanged), 1, 0)
		var bad *algos.MessageError // of a message mixed after an accepted gradient
		unchanged = unchanged || err != nil && !errors.As(err, &bad)
	case 4, 5, 6:
		if err = c.m.Receive(c.frame()); refused(err) {
			unchanged, err = true, nil
		} else {
			c.owned++
		}
	case 7:
		if who := c.byte(); who < 240 {
			c.m.Link(topology.Rank(who%9-1), c.byte()%2 == 0)
			break
		}
		err = c.m.End(c.m.Hold() + c.byte()%3 - 1)
		unchanged = err != nil
	}
	if unchanged && !slices.Equal(c.m.Params(), before) {
		c.t.Fatalf("refused with %v, but the model has changed", err)
	}
	if c.owned < 0 || c.owned > 40 {
		c.t.Fatalf("the machine has %d payloads", c.owned)
	}
	if err != nil && !c.mayCallAgain(err) {
		c.t.Fatalf("failed for good: %v", err)
	}
	return vec.MaxAbs(c.m.Params()) < 1e30
}

// mayCallAgain reports whether the machine goes on after the error.
func (c *caller) mayCallAgain(err error) bool {
	var bad *algos.MessageError
	return errors.As(err, &bad) || c.m.Gradient(nil, 0, 0) != err // a machine that has failed returns its error for ever
}

func refused(err error) bool {
	for _, reason := range []error{gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrStranger,
		gossip.ErrNoSuchHop, gossip.ErrUnasked} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// gradient returns a gradient, or an invalid one that must change nothing.
func (c *caller) gradient(none *bool) []float32 {
	g := make([]float32, callDim)
	for i := range g {
		g[i] = float32(i%3) - 1
	}
	switch c.byte() % 6 {
	case 0:
		g[7], *none = float32(math.NaN()), true
	case 1:
		g[callDim-1], *none = float32(math.Inf(-1)), true
	case 2:
		g, *none = g[:c.byte()%callDim], true
	}
	return g
}

// frame returns any frame; many look like those of a neighbour.
func (c *caller) frame() gossip.Frame {
	f := gossip.Frame{
		From: topology.Rank([]int{2, 7, called, -1, 3}[c.byte()%5]), To: called,
		Kind: gossip.FrameKind(c.byte() % 4), Round: c.byte() % callRounds, Hop: c.byte() % 8,
		Note: uint64(c.byte()) << (8 * (c.byte() % 8)),
	}
	if c.byte()%2 == 0 {
		f.Kind, f.Hop = gossip.Data, []int{0, 1, 5, 6}[f.Hop%4]
	}
	if c.byte()%16 == 0 {
		f.Round = []int{math.MaxInt, math.MinInt, -1, callRounds}[c.byte()%4]
	}
	size := []int{wellFormed, callDim, callDim + moniqua.HashLen, 4 + callDim/2, wellFormed + 32, callDim + 32, 0,
		1}[c.byte()%8]
	f.Payload = make([]byte, size+c.byte()%16/15)
	for i := range min(c.byte(), len(f.Payload)) {
		f.Payload[i] = byte(c.byte())
	}
	if at := 4 * c.byte(); c.byte()%4 == 0 && at+4 <= len(f.Payload) {
		v := []float64{math.NaN(), math.Inf(1), 1e30, -1e24, 1e5}[c.byte()%5]
		binary.LittleEndian.PutUint32(f.Payload[at:], math.Float32bits(float32(v)))
	}
	return f
}

// callees are machines to call: worker 5 between workers 2 and 7 of 8.
func callees(t *testing.T) []func(row topology.Row, x []float32) (gossip.Machine, error) {
	alpha := func(int) float32 { return 0.1 }
	worker := func(alg gossip.Algorithm, row topology.Row) (gossip.Machine, error) {
		return gossip.New(called, row, alg, callRounds)
	}
	pair := func(codec func(topology.Rank) algos.Codec, row topology.Row, x []float32) (gossip.Machine, error) {
		return gossip.NewPair(called, row, &algos.ADPSGD{X: x, Alpha: alpha, Codec: codec, Weight: 0.5},
			gossip.PairPlan{Workers: 8, Rounds: callRounds})
	}
	fixed, err := moniqua.NewPairFixed(2)
	if err != nil {
		t.Fatal(err)
	}
	return []func(row topology.Row, x []float32) (gossip.Machine, error){
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			return worker(&algos.DPSGD{X: x, Alpha: alpha, Codec: algos.Full{}}, row)
		},
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			return worker(&algos.DPSGD{X: x, Alpha: alpha, Codec: algos.Full{}, Order: algos.ATC, Clip: &algos.Clip{Liars: 1}},
				row)
		},
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			codec := &moniqua.Codec{Levels: 256, Theta: constantly(2), Seed: 1, Rank: called}
			return worker(&algos.DPSGD{X: x, Alpha: alpha, Codec: codec}, row)
		},
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			c := algos.Compression{In: make([]quant.Compressor, len(row.In))}
			for j := range len(row.In) + 1 {
				q, err := quant.NewMinMax(4, 0, quant.Nearest, uint64(j))
				if err != nil {
					return nil, err
				}
				if j == len(row.In) {
					c.Own = q
				} else {
					c.In[j] = q
				}
			}
			return worker(&algos.Choco{X: x, Alpha: alpha, Gamma: 0.3, Compression: c}, row)
		},
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			return pair(func(topology.Rank) algos.Codec { return algos.Full{} }, row, x)
		},
		func(row topology.Row, x []float32) (gossip.Machine, error) {
			codecs := map[topology.Rank]algos.Codec{}
			for _, peer := range row.Out {
				codec, err := moniqua.NewPair(moniqua.Codec{Levels: 256, Seed: uint64(peer), Rank: called}, peer, fixed)
				if err != nil {
					return nil, err
				}
				codecs[peer] = codec
			}
			return pair(func(peer topology.Rank) algos.Codec { return codecs[peer] }, row, x)
		},
	}
}

// No sequence of calls makes a machine panic or grow, and a refused call never changes its model. No neighbour makes it
// fail for good.
func FuzzCalls(f *testing.F) {
	for which := range byte(6) {
		f.Add([]byte{which})
		f.Add(append([]byte{which, 0, 3, 5, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
			1, 0, 0))
		f.Add([]byte{which, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 3, 7, 3, 0, 7, 3, 1})
		f.Add([]byte{which, 2, 5, 2, 0, 2, 1, 4, 2, 1, 0, 0, 0, 0, 1, 5, 3, 200, 0, 0, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &caller{t: t, data: data}
		row := topology.Row{Self: 1. / 3, In: []topology.Edge{{Peer: 2, Weight: 1. / 3}, {Peer: 7, Weight: 1. / 3}},
			Out: []topology.Rank{2, 7}}
		all := callees(t)
		var err error
		if c.m, err = all[c.byte()%len(all)](row, make([]float32, callDim)); err != nil {
			t.Fatal(err)
		}
		for len(c.data) > 0 && c.act() {
		}
	})
}

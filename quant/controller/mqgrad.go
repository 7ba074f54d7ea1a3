package controller

import (
	"errors"
	"math"
	"slices"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
)

// MQGrad learns which number of bits makes the loss fall fastest per second: SARSA with a small
// network, of Cui et al., "MQGrad: Reinforcement Learning of Gradient Quantization in Parameter
// Server", ICTIR 2018. Its state is (s, n): the last T losses, smoothed, and a number of bits; action
// a ∈ {0, 1} adds a to n.
//
//	s_i    = α·L_i + (1−α)·s_{i−1}, s_0 the last one of the call before
//	Q(a)   = net(s)[n + a − b_min]; at n = b_max there is no action 1
//	n_t    = n_{t−1} + [Q_{t−1}(1) > Q_{t−1}(0)], the greedy action, not the one taken
//	a_t    = [Q_t(1) > Q_t(0)], with probability ε the other one
//	r      = −reward·slope of s/max(1, milliseconds)
//	v     += η·(r + γ·Q_t(a_t) − Q_{t−1}(a_{t−1}))·∂Q_{t−1}(a_{t−1})/∂v
//
// The bits are n_t + a_t. Every update uses the weights before it. n never falls: bits above the
// smallest are given up only at the end of an exploration.
type MQGrad struct {
	settings Settings
	net      Net
	draw     func(t int) float64

	t        int       // calls so far
	n        int       // n_t
	action   int       // a_t
	state    []float64 // s, as long as T
	previous []float64
}

// Settings are the constants of MQGrad.
type Settings struct {
	T                int     // iterations per call, ≥ 2
	Alpha            float64 // weight of a new loss
	Epsilon          float64 // probability of the action that is not greedy
	Eta              float64 // step size
	Reward           float64 // scale of the reward
	Discount         float64 // γ
	Low, High, Start int     // bits, 1 ≤ Low ≤ Start ≤ High ≤ 16
}

// PaperSettings returns the settings of the paper for low to high bits, with the discount that
// docs/papers/readings.md explains.
func PaperSettings(low, high int) Settings {
	return Settings{T: 5, Alpha: 0.01, Epsilon: 0.1, Eta: 0.1, Reward: 300, Discount: 0.9, Low: low, High: high,
		Start: low}
}

const (
	hiddenUnits = 10
	// largest bounds the targets of learning: a net with larger errors would overflow.
	largest = 1 << 40
)

// NewMQGrad returns the controller of low to high bits, 1 ≤ low ≤ high ≤ 16,
// whose first weights and draws are functions of seed.
func NewMQGrad(low, high int, seed uint64) (*MQGrad, error) {
	if err := checkRange("mqgrad", low, high); err != nil {
		return nil, err
	}
	s := PaperSettings(low, high)
	net := newNet(s.T, hiddenUnits, high-low+1, rng.At(seed, 0))
	draw := func(t int) float64 { return float64(rng.At(seed, 1).Uniform(uint32(t))) }
	return NewMQGradFrom(s, net, draw)
}

// NewMQGradFrom returns the controller that begins with net, which it takes over. The net needs T
// inputs and an output for each number of bits. Function draw returns the number in [0, 1) of call t =
// 0, 1, …
func NewMQGradFrom(s Settings, net Net, draw func(t int) float64) (*MQGrad, error) {
	if err := checkRange("mqgrad", s.Low, s.High); err != nil {
		return nil, err
	}
	if s.T < 2 || s.Start < s.Low || s.Start > s.High || !net.fits(s.T, s.High-s.Low+1) {
		return nil, errors.New("controller: mqgrad: settings do not fit together: want T ≥ 2, a start between the " +
			"smallest and the largest bits, and a net of T inputs with an output for each number of bits")
	}
	return &MQGrad{
		settings: s, net: net, draw: draw, n: s.Start,
		state: make([]float64, s.T), previous: make([]float64, s.T),
	}, nil
}

// Window returns T.
func (c *MQGrad) Window() int { return c.settings.T }

// Choose returns the bits for the next T iterations, given the mean losses of the last T, oldest
// first, and the time they took. The first call uses only the last loss. If losses are missing or not
// finite, the bits stay, and the controller learns nothing.
func (c *MQGrad) Choose(losses []float64, _ float64, took time.Duration) int {
	if !usable(losses) || c.t > 0 && len(losses) < c.settings.T {
		return c.n + c.action
	}
	if c.t == 0 {
		for i := range c.state {
			c.state[i] = losses[len(losses)-1]
		}
		c.action = c.act()
	} else {
		c.step(losses[len(losses)-c.settings.T:], took)
	}
	c.t++
	return c.n + c.action
}

// step makes one step of learning.
func (c *MQGrad) step(losses []float64, took time.Duration) {
	n, action := c.n, c.action
	c.n += c.greedy()
	c.previous, c.state = c.state, c.previous
	last := c.previous[len(c.previous)-1]
	for i, loss := range losses {
		last = float64(c.settings.Alpha*loss) + float64((1-c.settings.Alpha)*last)
		c.state[i] = last
	}
	c.action = c.act()
	td := c.reward(took) + float64(c.settings.Discount*c.q(c.n, c.action, c.state)) - c.q(n, action, c.previous)
	if math.Abs(td) < largest {
		c.net.ascend(n+action-c.settings.Low, c.previous, c.settings.Eta*td)
	}
}

// q returns Q(s, a) of n bits.
func (c *MQGrad) q(n, a int, s []float64) float64 { return c.net.output(n+a-c.settings.Low, s) }

// greedy returns the action with the larger value in the present state.
func (c *MQGrad) greedy() int {
	if c.n < c.settings.High && c.q(c.n, 1, c.state) > c.q(c.n, 0, c.state) {
		return 1
	}
	return 0
}

// act returns the action to take in the present state.
func (c *MQGrad) act() int {
	best := c.greedy()
	if c.draw(c.t) < c.settings.Epsilon && c.n < c.settings.High {
		return 1 - best
	}
	return best
}

// reward returns r for the smoothed losses of T iterations that took so long.
func (c *MQGrad) reward(took time.Duration) float64 {
	middle := float64(len(c.state)-1) / 2
	slope, spread := 0.0, 0.0
	for i, loss := range c.state {
		at := float64(i) - middle
		slope += float64(at * loss)
		spread += float64(at * at)
	}
	return -c.settings.Reward * (slope / spread) / max(1, took.Seconds()*1e3)
}

// usable reports whether there are losses, all of a usable size.
func usable(losses []float64) bool {
	return len(losses) > 0 && !slices.ContainsFunc(losses, func(loss float64) bool { return !(math.Abs(loss) < largest) })
}

// State visits the losses, the bits and the weights of the net.
func (c *MQGrad) State(v *state.Visit) {
	state.Int(v, "calls", &c.t, 0, math.MaxInt)
	state.Int(v, "bits", &c.n, c.settings.Low, c.settings.High)
	state.Int(v, "action", &c.action, 0, min(1, c.settings.High-c.n))
	v.Doubles("losses", c.state)
	c.net.visit(v)
}

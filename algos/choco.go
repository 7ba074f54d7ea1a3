package algos

import (
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// Choco is one worker of ChocoSGD: Koloskova, Stich and Jaggi, "Decentralized Stochastic Optimization and Gossip
// Algorithms with Compressed Communication", ICML 2019, algorithm 2. Every worker has a public copy h, which all its
// neighbours know. It sends the compressed difference between its model and h:
//
//	y = x_k − α_k g_k
//	q_i = C(y − h_i),  h_i ← h_i + q_i,  s_i ← s_i + Σ_j W_ij q_j     (j = i included)
//	x_{k+1} = y + γ(s_i − h_i)
//
// from h = s = 0. The sum s = Σ_j W_ij h_j replaces the copies of the neighbours: two vectors are enough. C is a
// contraction, biased or not; the smaller its ω, the smaller γ must be.
//
// After Restart the copies begin at the models: h = x, and s = x_i + Σ_j W_ij (x_j − x_i). So the first message carries
// x after q, 4 bytes per coordinate.
type Choco struct {
	X           []float32 // the model x_{k,i}, y while a round mixes; updated in place
	Alpha       StepSize
	Gamma       float32 // γ in (0, 1]
	Compression Compression

	h, s []float32 // s is nil while h is there: the next message carries h
	g    []float32 // the gradient of the round, overwritten by y − h
	mine []byte    // the payload of this round, owned by the machine
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *Choco) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *Choco) Params() []float32 { return a.X }

// Descend turns x into y.
func (a *Choco) Descend(k int, g []float32) error {
	if a.h == nil {
		a.h, a.s = make([]float32, len(a.X)), make([]float32, len(a.X))
	}
	vec.Axpy(a.X, -a.Alpha(k), g)
	vec.Sub(g, a.X, a.h)
	a.g = g
	return nil
}

// Local subtracts α_k·g.
func (a *Choco) Local(k int, g []float32) error {
	vec.Axpy(a.X, -a.Alpha(k), g)
	return nil
}

// Send appends q_i.
func (a *Choco) Send(k, _ int, dst []byte) (out []byte, err error) {
	out, a.mine, err = a.Compression.send(dst, k, a.g)
	if err == nil && a.s == nil {
		out, err = appendFloats(out, a.h)
	}
	return out, err
}

// Mix updates the public copies and takes the consensus step.
func (a *Choco) Mix(k, _ int, in []Message) (Mixed, error) {
	c := a.Compression
	var first []Message
	if a.s == nil {
		var err error
		if in, first, err = a.divide(in); err != nil {
			return Mixed{}, err
		}
	}
	saw, err := c.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if a.s == nil {
		s := append([]float32(nil), a.h...)
		if _, err := (Full{}).Mix(s, k, a.h, nil, first); err != nil {
			return Mixed{}, err
		}
		a.s = s
	}
	if err := c.Own.AddTo(a.h, 1, k, a.mine); err != nil {
		return Mixed{}, err
	}
	if err := c.Own.AddTo(a.s, 1-weights(in), k, a.mine); err != nil {
		return Mixed{}, err
	}
	if err := c.addAll(a.s, 1, k, in); err != nil {
		return Mixed{}, err
	}
	h, s := a.h[:len(a.X)], a.s[:len(a.X)]
	for c := range a.X {
		a.X[c] += float32(a.Gamma * (s[c] - h[c]))
	}
	return saw, nil
}

// divide returns the two parts of the first messages after Restart: q and x.
func (a *Choco) divide(in []Message) (parts, models []Message, err error) {
	size := floatBytes * len(a.X)
	for _, m := range in {
		at := len(m.Payload) - size
		if at < 0 {
			return nil, nil, &MessageError{m.From, fmt.Errorf("%d bytes, want at least %d: the first message after a change "+
				"of members carries the model", len(m.Payload), size)}
		}
		q, x := m, m
		q.Payload, x.Payload = m.Payload[:at], m.Payload[at:]
		parts, models = append(parts, q), append(models, x)
	}
	return parts, models, nil
}

// Restart sets h to the model and forgets s, which is a sum over other members.
func (a *Choco) Restart(Origin) {
	a.h, a.s = append([]float32(nil), a.X...), nil
}

// ExtraMemory returns the bytes of h and s.
func (a *Choco) ExtraMemory() int { return floatBytes * (len(a.h) + len(a.s)) }

// State shows h, s and the table of the compressor.
func (a *Choco) State(v *state.Visit) {
	v.Vector("h", &a.h, len(a.X))
	v.Vector("s", &a.s, len(a.X))
	a.Compression.State(v)
}

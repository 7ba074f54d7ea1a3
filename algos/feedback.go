package algos

import "gossiptrainer/internal/vec"

// A contribution is what one worker adds to a compressed sum of gradients: C(g)
// or, with error feedback (Karimireddy et al., "Error Feedback Fixes SignSGD",
// ICML 2019, algorithm 2),
//
//	v = g + e,  C(v),  e ← v − C(v)
//
// from e = 0: what one message lost, the next ones bring.
type contribution struct {
	g    []float32 // the gradient of the round, from sum on the sum
	e    []float32 // the error, v between descend and settle; nil without feedback
	mine []byte    // the payload of this round, owned by the machine
}

// descend takes the gradient of the round.
func (p *contribution) descend(g []float32, feedback bool) {
	p.g = g
	if !feedback {
		return
	}
	if p.e == nil {
		p.e = make([]float32, len(g))
	}
	vec.Add(p.e, p.e, g)
}

// send appends C(v).
func (p *contribution) send(c Compression, k int, dst []byte) (out []byte, err error) {
	v := p.g
	if p.e != nil {
		v = p.e
	}
	out, p.mine, err = c.send(dst, k, v)
	return out, err
}

// settle keeps the error of what was sent.
func (p *contribution) settle(c Compression, k int) error {
	if p.e == nil {
		return nil
	}
	return c.Own.AddTo(p.e, -1, k, p.mine)
}

// sum replaces the gradient by the sum of what all workers have sent, which
// check has passed, in the order of the ranks whoever adds: this worker's comes
// after those of as many others as its rank says.
func (p *contribution) sum(c Compression, rank, k int, in []Message) error {
	clear(p.g)
	for j := range len(in) + 1 {
		of, payload := c.Own, p.mine
		switch {
		case j < rank:
			of, payload = c.In[j], in[j].Payload
		case j > rank:
			of, payload = c.In[j-1], in[j-1].Payload
		}
		if err := of.AddTo(p.g, 1, k, payload); err != nil {
			return err
		}
	}
	return nil
}

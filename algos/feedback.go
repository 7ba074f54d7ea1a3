package algos

import "gossiptrainer/internal/vec"

// A contribution is the part of one worker in a compressed sum of gradients: C(g) or, with error feedback (Karimireddy
// et al., "Error Feedback Fixes SignSGD", ICML 2019, algorithm 2),
//
//	v = g + e,  C(v),  e ← v − C(v)
//
// from e = 0: later messages make up for the loss of earlier ones.
type contribution struct {
	g    []float32 // the gradient of the round; after sum, the sum
	e    []float32 // the error, v between descend and settle; nil without feedback
	mine []byte    // the payload of this round, owned by the machine
}

// descend stores the gradient of the round.
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

// settle keeps the error of the message sent.
func (p *contribution) settle(c Compression, k int) error {
	if p.e == nil {
		return nil
	}
	return c.Own.AddTo(p.e, -1, k, p.mine)
}

// sum replaces the gradient by the sum of all workers' messages, which check must have passed. Every worker adds them
// in the order of the ranks, its own message at its own rank.
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

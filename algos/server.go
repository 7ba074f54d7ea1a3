package algos

import (
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
	"gossiptrainer/quant"
)

// Server is one worker of data-parallel SGD with a parameter server and compression both ways, as in Cui et al.,
// "MQGrad", 2018:
//
//	v̄ = (1/n) Σ_i C(g_{k,i}),  x_{k+1} = x_k − α_k C(v̄),
//
// on the star around worker 0, which is server and worker. All workers, worker 0 included, apply the decoded message of
// the server. So the replicas stay equal, bit for bit.
//
// Feedback corrects the errors of the workers' messages. The server has no memory for the error of C(v̄), so C should
// be unbiased.
type Server struct {
	X           []float32 // the model x_k, updated in place
	Alpha       StepSize
	Rank        int              // 0 is the server
	Feedback    bool             // error feedback of the workers' gradients
	Compression Compression      // of the gradients; only worker 0 needs those of the others
	Mean        quant.Compressor // of the server's message, the same at all workers
	After       Optimizer        // of the server's message; nil: workers send directions

	part contribution
	told []byte // the server's message of this round, owned by the machine
}

// The hops of a round.
const (
	up   = iota // gradients to the server
	down        // their mean to the workers
)

// Plan describes a hop up and a hop down. Messages travel both ways in both hops. Empty ones carry no data, but show
// how far their sender is.
func (a *Server) Plan() Plan { return Plan{Hops: 2, Lead: 1} }

// Params returns x_k.
func (a *Server) Params() []float32 { return a.X }

// Descend stores the gradient.
func (a *Server) Descend(_ int, g []float32) error {
	a.part.descend(g, a.Feedback)
	return nil
}

// Send appends C(v) on the way up and, at the server, C(v̄) on the way down.
func (a *Server) Send(k, hop int, dst []byte) (out []byte, err error) {
	switch {
	case hop == up && a.serves():
		out, err = a.part.send(a.Compression, k, dst)
		return out[:len(dst)], err // the server's own part stays in its buffer and is not sent
	case hop == up:
		return a.part.send(a.Compression, k, dst)
	case a.serves():
		out, a.told, err = Compression{Own: a.Mean}.send(dst, k, a.part.g)
		return out, err
	}
	return dst, nil
}

// Mix takes the mean at the server on the way up, and the step on the way down.
func (a *Server) Mix(k, hop int, in []Message) (Mixed, error) {
	switch {
	case hop == up && a.serves():
		return a.average(k, in)
	case hop == up:
		if err := checkEmpty(k, in); err != nil {
			return Mixed{}, err
		}
		return Mixed{}, a.part.settle(a.Compression, k)
	case a.serves():
		if err := checkEmpty(k, in); err != nil {
			return Mixed{}, err
		}
		return Mixed{}, a.step(k, a.told)
	}
	mean := Compression{In: []quant.Compressor{a.Mean}}
	saw, err := mean.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	return saw, a.step(k, in[0].Payload)
}

// step takes the step of the server's message.
func (a *Server) step(k int, told []byte) error {
	if a.After == nil {
		return a.Mean.AddTo(a.X, -a.Alpha(k), k, told)
	}
	clear(a.part.g) // it has been sent
	if err := a.Mean.AddTo(a.part.g, 1, k, told); err != nil {
		return err
	}
	descend(a.X, a.part.g, 1, a.Alpha(k), a.After)
	return nil
}

// average replaces the gradient by v̄.
func (a *Server) average(k int, in []Message) (saw Mixed, err error) {
	if saw, err = a.Compression.check(k, len(a.X), in); err != nil {
		return saw, err
	}
	if err := a.part.settle(a.Compression, k); err != nil {
		return saw, err
	}
	if err := a.part.sum(a.Compression, a.Rank, k, in); err != nil {
		return saw, err
	}
	vec.Scale(a.part.g, 1/float32(1+len(in)), a.part.g)
	return saw, nil
}

func (a *Server) serves() bool { return a.Rank == 0 }

// ExtraMemory returns the bytes of the error.
func (a *Server) ExtraMemory() int { return floatBytes * len(a.part.e) }

// checkEmpty makes sure that messages are empty.
func checkEmpty(k int, in []Message) error {
	for _, m := range in {
		if len(m.Payload) > 0 {
			return &MessageError{m.From, fmt.Errorf("round %d: %d bytes, want none", k, len(m.Payload))}
		}
	}
	return nil
}

// State shows the error and the tables of both compressors.
func (a *Server) State(v *state.Visit) {
	v.Vector("e", &a.part.e, len(a.X))
	a.Compression.State(v)
	v.Part("mean", a.Mean)
	visit(v, a.After)
}

// Restart keeps the error, which is a debt of this worker alone. A newcomer owes nothing.
func (a *Server) Restart(of Origin) {
	if of == Cloned {
		a.part.e = nil
	}
}

// Settle keeps the error of the message of round k. On the way down it is kept.
func (a *Server) Settle(k, hop int) error {
	if hop > up {
		return nil
	}
	return a.part.settle(a.Compression, k)
}

// Shared shows the table of the server's messages, and the memory of the optimizer.
func (a *Server) Shared(v *state.Visit) {
	v.Part("mean", a.Mean)
	visit(v, a.After)
}

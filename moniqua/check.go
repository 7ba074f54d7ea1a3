package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
)

// checkMix finds the reason why the arguments of Mix cannot be used, if there is one,
// before acc changes.
func (r *round) checkMix(acc, x []float32, mine []byte, in []algos.Message) error {
	if len(acc) != len(x) {
		return fmt.Errorf("moniqua: internal error: round %d: mix of %d parameters into %d", r.k, len(x), len(acc))
	}
	if !inPlace(acc, x) || !r.inLanes(in) {
		if err := r.checkReference(x); err != nil {
			return err
		}
	}
	if err := r.checkPayload(mine, len(x)); err != nil {
		return fmt.Errorf("moniqua: round %d: own payload: %w", r.k, err)
	}
	for _, message := range in {
		if err := r.checkPayload(message.Payload, len(x)); err != nil {
			return &algos.MessageError{From: message.From, Err: fmt.Errorf("moniqua: round %d: %w", r.k, err)}
		}
	}
	return nil
}

// inPlace reports whether acc is x. Encode has found x sound then, so that the
// lanes do not read it once more, which would be a quarter of the pass over memory.
func inPlace(acc, x []float32) bool { return len(acc) > 0 && &acc[0] == &x[0] }

// inLanes reports whether in is mixed in lanes alone.
func (r *round) inLanes(in []algos.Message) bool {
	return r.width > 0 && len(in) > 0 && len(in) <= inLanes && !repaired(in)
}

// checkPayload makes sure that payload holds d symbols and the hash, if any.
func (r *round) checkPayload(payload []byte, d int) error {
	if len(payload) < r.tail {
		return fmt.Errorf("%d bytes: the hash alone takes %d", len(payload), r.tail)
	}
	return r.packing.Check(payload[:len(payload)-r.tail], d)
}

// checkReference makes sure that every coordinate of x is within 2³² steps of 0.
func (r *round) checkReference(x []float32) error {
	bound := float32(min(r.grid.Step()*(1<<32), math.MaxFloat32))
	limit := math.Float32bits(bound)
	if r.tier.Magnitude(x) <= limit {
		return nil
	}
	for i, v := range x {
		if math.Float32bits(v)&^(1<<31) > limit { // NaN and Inf are above every number
			return r.strange(v, i)
		}
	}
	return nil
}

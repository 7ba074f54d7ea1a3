package script

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// mostInline is the largest contribution to a call that travels in a notice, in bytes. Others fetch a larger one.
const mostInline = 8 * bridge.MaxReduced

// called takes in a call that the script made in its turn of round k, or after its last round.
func (t *turns) called(act bridge.Act, k int) error {
	call := pace.Call{Kind: act.Request.Kind, Op: act.Request.Op, Root: act.Request.Root, Ranks: act.Request.Ranks, At: k,
		Body: act.Raw}
	if len(act.Raw) > mostInline {
		call.Body, call.Size = nil, int64(len(act.Raw))
		t.room.Publish(tagOf(act.Call), pack(act.Raw))
	}
	t.call.asked, t.call.given = k, act.Raw
	return t.publish(func(p *pace.Pace) error { return p.Call(act.Call, call) })
}

// meet takes part in a call at the boundary of round k, where the worker has the vector x. It answers the script if
// that waits. moved says that the script's next turn begins with x.
func (t *turns) meet(v view, k int, x []float32) (moved bool, err error) {
	kind, parts := t.states.parts(v.call)
	raw, err := t.combine(v.call, kind, parts, k, x)
	if err != nil {
		return false, &Error{fmt.Errorf("%s %d: %w", kind, v.call, err)}
	}
	if !v.waiting {
		return false, t.states.change(func(p *pace.Pace) error { p.Met(v.call); return nil })
	}
	moved = !t.call.keeps && k != t.call.asked
	result := bridge.Result{Kind: kind, Round: k, Moved: moved}
	if kind == pace.Refresh {
		result.From = t.heir.from
	}
	err = t.script.Answer(v.call, result, raw)
	if err != nil && !errors.Is(err, bridge.ErrLeft) {
		return false, fate(err)
	}
	return moved, t.publish(func(p *pace.Pace) error { p.Pass(k); return nil })
}

// combine returns the result of a call.
func (t *turns) combine(call int, kind pace.Kind, parts map[topology.Rank]pace.Call, k int, x []float32) ([]byte,
	error) {
	switch kind {
	case pace.Mean:
		for _, p := range parts {
			return t.mean(call, p.Ranks, x)
		}
	case pace.Reduce:
		return reduce(parts), nil
	case pace.Refresh:
		return t.refresh(call, parts, k)
	case pace.Broadcast:
		for _, p := range parts {
			return t.broadcast(call, topology.Rank(p.Root), parts)
		}
	}
	return nil, nil
}

// mean returns the mean of the models of some workers, or all. Others contribute nothing to the sum, and a last number
// is the share of those that do.
func (t *turns) mean(call int, ranks []int, x []float32) ([]byte, error) {
	if len(ranks) == 0 {
		mean, err := t.room.Average(t.room.ctx, call, x)
		return vec.AppendLE(nil, mean), err
	}
	part := make([]float32, len(x)+1)
	if slices.Contains(ranks, t.place.Rank) {
		copy(part, x)
		part[len(x)] = 1
	}
	mean, err := t.room.Average(t.room.ctx, call, part)
	if err != nil {
		return nil, err
	}
	share := mean[len(x)]
	if share == 0 {
		return nil, fmt.Errorf("workers %v are lost", ranks)
	}
	for i := range mean {
		mean[i] /= share
	}
	return vec.AppendLE(nil, mean[:len(x)]), nil
}

// broadcast returns the bytes of the root.
func (t *turns) broadcast(call int, root topology.Rank, parts map[topology.Rank]pace.Call) ([]byte, error) {
	part, called := parts[root]
	if !called {
		return nil, fmt.Errorf("worker %d, whose value it gives, has ended", root)
	}
	return t.bytesOf(call, root, part)
}

// pack returns bytes as a vector, whose numbers mean nothing.
func pack(raw []byte) []float32 {
	x := make([]float32, (len(raw)+3)/4)
	vec.ReadLE(x, append(slices.Clip(raw), make([]byte, 4*len(x)-len(raw))...))
	return x
}

// reduce combines values in the order of ranks, so that all workers get the same bits.
func reduce(parts map[topology.Rank]pace.Call) []byte {
	ranks := slices.Sorted(maps.Keys(parts))
	op, out := parts[ranks[0]].Op, slices.Clone(parts[ranks[0]].Body)
	at := func(b []byte, i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) }
	for i := range len(out) / 8 {
		v := at(out, i)
		for _, rank := range ranks[1:] {
			w := at(parts[rank].Body, i)
			switch op {
			case "min":
				v = min(v, w)
			case "max":
				v = max(v, w)
			default:
				v += w
			}
		}
		if op == "mean" {
			v /= float64(len(ranks))
		}
		binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(v))
	}
	return out
}

package build

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
)

const floatBytes = 4

// layouts returns, for the entropy coder, how the payloads of the worker's machine are divided. The codec or the
// compressor knows this, the codec perhaps by the round. Any other payload, like a message without a model, is bytes.
func (b *builder) layouts(m gossip.Machine) (func(f gossip.Frame) quant.Layout, error) {
	models, err := b.modelLayout(m)
	if err != nil {
		return nil, err
	}
	return func(f gossip.Frame) quant.Layout {
		if l := models(f); f.Kind == gossip.Data && l.Len() == len(f.Payload) {
			return l
		}
		return quant.Bytes(len(f.Payload))
	}, nil
}

// modelLayout returns the layout of messages that hold a model or a part of one.
func (b *builder) modelLayout(m gossip.Machine) (func(f gossip.Frame) quant.Layout, error) {
	if b.method.Compresses() {
		c, err := b.compressor(b.rank)
		if err != nil {
			return nil, err
		}
		if varying, ok := c.(quant.Varying); ok {
			return func(f gossip.Frame) quant.Layout { return varying.LayoutOf(b.run.Dim(), f.Payload) }, nil
		}
		layout := c.Layout(b.run.Dim())
		return func(gossip.Frame) quant.Layout { return layout }, nil
	}
	if w, ok := m.(*gossip.Worker); ok {
		if _, ok := w.Codec(0).(*moniqua.Codec); ok {
			return func(f gossip.Frame) quant.Layout {
				codec, piece := w.CodecOf(f)
				return laneLayout(codec, f.Round, piece, b.run.Dim())
			}, nil
		}
	}
	if b.method.Asynchronous() {
		return func(f gossip.Frame) quant.Layout { return pairLayout(b.run, f) }, nil
	}
	return func(f gossip.Frame) quant.Layout { return quant.Floats(len(f.Payload) / floatBytes) }, nil
}

// laneLayout returns the layout of a piece of a round that a lane's codec has made, bytes if it is not known.
func laneLayout(codec algos.Codec, round, piece, dim int) quant.Layout {
	c, ok := codec.(*moniqua.Codec)
	if !ok {
		return quant.Layout{}
	}
	return c.Layout(round, dim, piece)
}

// pairLayout returns the layout of a model and the step counts of all workers. The model is in full precision, or
// symbols and perhaps their hash: the length tells which.
func pairLayout(r *experiment.Run, f gossip.Frame) quant.Layout {
	l := quant.Floats(r.Dim())
	l.Tail = gossip.CensusBytes(r.N())
	if r.Modulo() != nil && l.Len() != len(f.Payload) {
		l.Levels, l.Word, l.Count = modulo.Levels(r.Modulo().Algorithm), 0, r.Dim()-r.Exact()
		l = l.Longer(floatBytes * r.Exact())
		return l.Longer(max(0, min(len(f.Payload)-l.Len(), moniqua.HashLen)))
	}
	return l
}

// still returns what the exact elements were at the start of the run. Nil: there are none, or they are not known.
func (b *builder) still() []float32 {
	if b.run.Program() == nil || len(b.run.Program().Exact) != b.run.Exact() {
		return nil
	}
	return b.run.Program().Exact
}

// spans returns where the exact elements are in the payloads of the worker's machine. A payload that has none there is
// coded to no use, but without error.
func (b *builder) spans(m gossip.Machine) func(f gossip.Frame) work.Span {
	w, shares := m.(*gossip.Worker)
	behind := 0 // bytes after a model
	if b.method.Asynchronous() {
		behind = gossip.CensusBytes(b.run.N())
	}
	return func(f gossip.Frame) work.Span {
		end, again := len(f.Payload)-behind, false
		if shares {
			codec, piece := w.CodecOf(f)
			again = piece != f.Piece
			if full, ok := codec.(algos.Full); ok {
				return spanOf(full, piece, b.run.Dim(), b.run.Exact(), again)
			}
			if codec == nil && !b.method.Compresses() { // sums of updates, which are 0 where nothing has changed
				return work.Span{First: b.run.Exact(), Count: end / floatBytes}
			}
		}
		count := min(b.run.Exact(), max(0, end/floatBytes))
		return work.Span{At: end - floatBytes*count, First: b.run.Exact() - count, Count: count, Again: again}
	}
}

// spanOf returns where the last exact of d coordinates are in a piece in full precision.
func spanOf(full algos.Full, piece, d, exact int, again bool) work.Span {
	first, end := full.Range(d, piece)
	at := max(first, d-exact)
	return work.Span{At: floatBytes * (at - first), First: at - (d - exact), Count: max(0, end-at), Again: again}
}

package model

import "gossiptrainer/internal/kernel"

// An ahead lists the tensors that a convolution's passes over memory need next. The sums before fetch them into the
// cache: they leave the memory idle, and the passes would wait for it.
type ahead struct {
	forward []*tensor // during y, for y of the next images
	weights []*tensor // during dw, for what follows dx of the same images
	back    []*tensor // during dx, for dz and dw of the next images
}

// A span is the images first to end−1 of some tensors.
type span struct {
	tensors    []*tensor
	first, end int
}

// next returns a span for the sums to fetch, an empty one if they do not fetch.
func (l *conv) next(tensors []*tensor, first, end int) span {
	if l.tier < kernel.AVX512 {
		return span{}
	}
	return span{tensors, first, end}
}

// during cuts quads into a part for each tensor and calls work with each part and what it is to fetch. Parts fill whole
// tiles, so that cutting costs nothing.
func (s span) during(quads []kernel.Quad, work func(part []kernel.Quad, fetch []float32)) {
	done := 0
	for i, t := range s.tensors {
		end := len(quads) * (i + 1) / len(s.tensors) / kernel.FullQuads * kernel.FullQuads
		if i == len(s.tensors)-1 {
			end = len(quads)
		}
		if end > done {
			work(quads[done:end], t.v[min(len(t.v), s.first*t.size()):min(len(t.v), s.end*t.size())])
			done = end
		}
	}
	if done < len(quads) {
		work(quads[done:], nil)
	}
}

package kernel

import "gossiptrainer/internal/kernel/asm"

// A Window places the inputs of one output of a convolution: Rows runs of Len adjacent inputs, Step
// apart. All counts are of floats.
type Window struct {
	Rows, Len, Step int
	// In and Out place the four pixels of a quad: the begins of their windows and of their outputs.
	In, Out [4]int
	// Ahead is memory that the caller needs next. AVX-512 fetches it into the cache meanwhile.
	Ahead []float32
}

// A Quad places four pixels computed together.
type Quad = asm.Quad

// FullQuads is the number of quads, and so its multiples, that fill whole tiles in every tier.
const FullQuads = asm.ConvolveTile1

// cacheLine is how many bytes come into the cache together.
const cacheLine = 64

// A Filter holds the weights of a convolution. Each panel of outputs has one group per input of the
// window, and the start values of the sums.
type Filter struct {
	Weights  Panel
	Start    Panel // a group per panel
	Channels int   // outputs
}

// Convolve computes for each quad q, its pixels i and the channels o of f
//
//	out[q.Out + w.Out[i] + o] = start[o] + Σ_{r, j} in[q.In + w.In[i] + r·Step + j]·weights[r·Len + j][o],
//
// one sum after the other in this order. The tiers with assembly add every product without rounding
// it, so they have the same bits. The places in the quads must lie in the slices.
func (t Tier) Convolve(out, in []float32, w *Window, f *Filter, quads []Quad) {
	if len(quads) == 0 {
		return
	}
	if t == Off {
		for p := range Panels(f.Channels) {
			f.convolve(out, in, w, quads, p)
		}
		return
	}
	call := convolveCall{asm.ConvolveCall{
		In: &in[0], Rows: w.Rows, Len: w.Len,
		Step: 4 * (w.Step - w.Len), Panel: 4 * Lanes * w.Rows * w.Len,
	}}
	for i := range call.InAt {
		call.InAt[i], call.OutAt[i] = 4*w.In[i], 4*w.Out[i]
	}
	call.Ahead, call.Pace = t.fetch(w.Ahead, in, len(quads), f.Channels, w.Rows*w.Len)
	for p := 0; p < Panels(f.Channels); {
		if size := w.Rows * w.Len; size > 0 {
			call.W = &f.Weights[p*size][0]
		}
		call.Start, call.Out = &f.Start[p][0], &out[p*Lanes]
		wide := f.Channels - p*Lanes
		call.Mask = laneMask(wide)
		call.run(t, wide, quads)
		p++
		if t == AVX512 && wide >= 2*Lanes {
			p++
		}
	}
}

// fetch returns where the assembly begins to fetch ahead, and how many bytes it fetches per step. The quads of all
// columns take steps times the number of tiles. Without ahead the assembly fetches the same input again and again: an
// address that may not be read takes a processor long.
func (t Tier) fetch(ahead, in []float32, quads, columns, steps int) (from *float32, pace int) {
	if len(ahead) == 0 || steps == 0 {
		return &in[0], 0
	}
	tile, wide := convolveTile(t, columns), Lanes
	if tile == asm.ConvolveTile2 {
		wide = 2 * Lanes
	}
	tiles := (quads + tile - 1) / tile * ((columns + wide - 1) / wide)
	return &ahead[0], min(cacheLine, 4*len(ahead)/(tiles*steps))
}

// A convolveCall holds the arguments of the assembly.
type convolveCall struct{ asm.ConvolveCall }

// run computes as many of the next wide channels as a tile has, for all quads. Copies of the last quad
// fill up the last tile.
func (call *convolveCall) run(t Tier, wide int, quads []Quad) {
	var rest [asm.ConvolveTile1]Quad
	size := convolveTile(t, wide)
	if n := len(quads) / size; n > 0 {
		call.enter(t, wide, n, &quads[0])
	}
	if n := copy(rest[:], quads[len(quads)/size*size:]); n > 0 {
		for i := n; i < size; i++ {
			rest[i] = rest[n-1]
		}
		call.enter(t, wide, 1, &rest[0])
	}
}

// convolveTile returns the quads of a tile.
func convolveTile(t Tier, wide int) int {
	switch {
	case t == AVX512 && wide >= 2*Lanes:
		return asm.ConvolveTile2
	case t == AVX512:
		return asm.ConvolveTile1
	}
	return 1
}

// enter calls the assembly for the quads of a number of tiles.
func (call *convolveCall) enter(t Tier, wide, tiles int, quads *Quad) {
	call.Done, call.Tiles = 0, tiles
	switch {
	case t == AVX512 && wide >= 2*Lanes:
		asm.Convolve2AVX512(&call.ConvolveCall, quads)
	case t == AVX512:
		asm.ConvolveAVX512(&call.ConvolveCall, quads)
	case wide >= Lanes:
		asm.ConvolveAVX2(&call.ConvolveCall, quads)
	default:
		asm.ConvolvePartAVX2(&call.ConvolveCall, quads)
	}
}

// convolve computes panel p of the outputs, two pixels and four channels at a time: plain Go has
// registers for that number of sums.
func (f *Filter) convolve(out, in []float32, w *Window, quads []Quad, p int) {
	size := w.Rows * w.Len
	weights := f.Weights[p*size : (p+1)*size]
	for c := p * Lanes; c < min(f.Channels, (p+1)*Lanes); c += 4 {
		wide := min(4, f.Channels-c)
		start := (*[4]float32)(f.Start[p][c%Lanes:])
		for _, q := range quads {
			for i := 0; i < 4; i += 2 {
				s := [2][4]float32{*start, *start}
				for r := range w.Rows {
					x := in[q.In+w.In[i]+r*w.Step:][:w.Len]
					y := in[q.In+w.In[i+1]+r*w.Step:][:w.Len]
					addProducts(&s, x, y, weights[r*w.Len:(r+1)*w.Len], c%Lanes)
				}
				copy(out[q.Out+w.Out[i]+c:][:wide], s[0][:])
				copy(out[q.Out+w.Out[i+1]+c:][:wide], s[1][:])
			}
		}
	}
}

// addProducts adds Σ_j x[j]·w[j][c..c+3] to s[0], and the same for y to s[1].
func addProducts(s *[2][4]float32, x, y []float32, w Panel, c int) {
	s00, s01, s02, s03 := s[0][0], s[0][1], s[0][2], s[0][3]
	s10, s11, s12, s13 := s[1][0], s[1][1], s[1][2], s[1][3]
	y, w = y[:len(x)], w[:len(x)]
	for j, a := range x {
		b, v := y[j], (*[4]float32)(w[j][c:])
		w0, w1, w2, w3 := v[0], v[1], v[2], v[3]
		s00 += float32(a * w0)
		s01 += float32(a * w1)
		s02 += float32(a * w2)
		s03 += float32(a * w3)
		s10 += float32(b * w0)
		s11 += float32(b * w1)
		s12 += float32(b * w2)
		s13 += float32(b * w3)
	}
	*s = [2][4]float32{{s00, s01, s02, s03}, {s10, s11, s12, s13}}
}

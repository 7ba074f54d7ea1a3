package kernel

import "gossiptrainer/internal/kernel/asm"

// MaxPool computes y, an image of size s, as the largest of each 2×2 pixels of x. A NaN among numbers
// may be lost.
func (t Tier) MaxPool(y, x Plane, s Size) {
	bottom := x.below()
	if t == Off {
		maxPool(y, x, bottom, s)
		return
	}
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&y.V[0], &x.V[0], &bottom.V[0]},
		Steps:  [6]int{4 * y.Step, 8 * x.Step, 8 * x.Step},
	}}
	for call.next(t, s) {
		switch {
		case t == AVX512 && call.part():
			asm.MaxPoolPartAVX512(&call.ChannelsCall)
		case t == AVX512:
			asm.MaxPoolAVX512(&call.ChannelsCall)
		case call.part():
			asm.MaxPoolPartAVX2(&call.ChannelsCall)
		default:
			asm.MaxPoolAVX2(&call.ChannelsCall)
		}
	}
}

// maxPool is the definition of MaxPool.
func maxPool(y, x, bottom Plane, s Size) {
	for i := range s.Rows * s.Pixels {
		r, j := i/s.Pixels, i%s.Pixels
		for c := range s.Channels {
			at := 2*r*x.Step + 2*j*s.Channels + c
			y.V[r*y.Step+j*s.Channels+c] = max(x.V[at], x.V[at+s.Channels], bottom.V[at], bottom.V[at+s.Channels])
		}
	}
}

// MaxPoolGradient computes dx from y = MaxPool(x) and dy. Among the pixels with the value y, the first
// in row order gets dy, and the others get 0.
func (t Tier) MaxPoolGradient(dx, x, y, dy Plane, s Size) {
	if t == Off {
		maxPoolGradient(dx, x, y, dy, s)
		return
	}
	bottom, gradient := x.below(), dx.below()
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&dx.V[0], &gradient.V[0], &x.V[0], &bottom.V[0], &y.V[0], &dy.V[0]},
		Steps:  [6]int{8 * dx.Step, 8 * dx.Step, 8 * x.Step, 8 * x.Step, 4 * y.Step, 4 * dy.Step},
	}}
	for call.next(t, s) {
		switch {
		case t == AVX512 && call.part():
			asm.MaxPoolGradientPartAVX512(&call.ChannelsCall)
		case t == AVX512:
			asm.MaxPoolGradientAVX512(&call.ChannelsCall)
		case call.part():
			asm.MaxPoolGradientPartAVX2(&call.ChannelsCall)
		default:
			asm.MaxPoolGradientAVX2(&call.ChannelsCall)
		}
	}
}

// maxPoolGradient is the definition of MaxPoolGradient.
func maxPoolGradient(dx, x, y, dy Plane, s Size) {
	for i := range s.Rows * s.Pixels {
		r, j := i/s.Pixels, i%s.Pixels
		for c := range s.Channels {
			v, d := y.V[r*y.Step+j*s.Channels+c], dy.V[r*dy.Step+j*s.Channels+c]
			for k := range 4 {
				at := 2*j*s.Channels + k%2*s.Channels + c
				to := &dx.V[(2*r+k/2)*dx.Step+at]
				if *to = 0; x.V[(2*r+k/2)*x.Step+at] == v {
					*to, d = d, 0
				}
			}
		}
	}
}

// below returns the plane from the second row on.
func (p Plane) below() Plane { return Plane{p.V[p.Step:], p.Step} }

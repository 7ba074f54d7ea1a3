package kernel

import "gossiptrainer/internal/kernel/asm"

// A Plane is an image in a slice: its first row begins at 0, and rows are Step floats apart.
type Plane struct {
	V    []float32
	Step int
}

// A Size is the size of an image: rows of pixels of channels. The channels of a pixel are adjacent.
type Size struct{ Rows, Pixels, Channels int }

// ChannelSums computes Σ u per channel, in float32 and in the order of Moments.
func ChannelSums(t Tier, sum []float32, u Plane, s Size) {
	if t == Off {
		channelSums(sum, u, s)
		return
	}
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&u.V[0]}, Steps: [6]int{4 * u.Step}, Coefficients: [3]*float32{&sum[0]},
	}}
	for call.next(t, s) {
		switch {
		case t == AVX512 && call.part():
			asm.ChannelSumsPartAVX512(&call.ChannelsCall)
		case t == AVX512:
			asm.ChannelSumsAVX512(&call.ChannelsCall)
		case call.part():
			asm.ChannelSumsPartAVX2(&call.ChannelsCall)
		default:
			asm.ChannelSumsAVX2(&call.ChannelsCall)
		}
	}
}

// channelSums is the definition of ChannelSums.
func channelSums(sum []float32, u Plane, s Size) {
	for c := range sum {
		var chains [4]float32
		for r := range s.Rows {
			for j := range s.Pixels {
				i := j % 4
				if j >= s.Pixels&^3 {
					i = 0
				}
				chains[i] += u.V[r*u.Step+j*s.Channels+c]
			}
		}
		sum[c] = (chains[0] + chains[1]) + (chains[2] + chains[3])
	}
}

// Sums holds Σ u and Σ u·v per channel.
type Sums struct{ U, UV []float32 }

// Moments computes the sums to, in float32: pixel j of a row goes into partial sum j mod 4. Pixels
// after the last full four of a row go into the first sum.
func (t Tier) Moments(to Sums, u, v Plane, s Size) {
	call := channelsCall{asm.ChannelsCall{Planes: [6]*float32{&u.V[0], &v.V[0]}, Steps: [6]int{4 * u.Step, 4 * v.Step}}}
	full := call.begin(t, s, to.U, to.UV, nil)
	if full > 0 {
		if t == AVX512 {
			asm.MomentsAVX512(&call.ChannelsCall)
		} else {
			asm.MomentsAVX2(&call.ChannelsCall)
		}
	}
	if full < s.Channels {
		moments(to.from(full), u.from(full), v.from(full), s)
	}
}

// MaskedMoments sets u to zero where y is not positive, and then computes Moments.
func (t Tier) MaskedMoments(to Sums, u, v, y Plane, s Size) {
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&u.V[0], &v.V[0], &y.V[0]},
		Steps:  [6]int{4 * u.Step, 4 * v.Step, 4 * y.Step},
	}}
	full := call.begin(t, s, to.U, to.UV, nil)
	if full > 0 {
		if t == AVX512 {
			asm.MaskedMomentsAVX512(&call.ChannelsCall)
		} else {
			asm.MaskedMomentsAVX2(&call.ChannelsCall)
		}
	}
	if full < s.Channels {
		mask(u.from(full), y.from(full), s, s.Channels-full)
		moments(to.from(full), u.from(full), v.from(full), s)
	}
}

// Affine is v → max(A·v + B, Floor) with an A and a B per channel.
type Affine struct {
	A, B  []float32
	Floor float32
}

// Normalize computes y = max(A·z + B, Floor).
func (t Tier) Normalize(y, z Plane, f Affine, s Size) {
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&y.V[0], &z.V[0]},
		Steps:  [6]int{4 * y.Step, 4 * z.Step},
		Floor:  f.Floor,
	}}
	full := call.begin(t, s, f.A, f.B, nil)
	if full > 0 {
		if t == AVX512 {
			asm.NormalizeAVX512(&call.ChannelsCall)
		} else {
			asm.NormalizeAVX2(&call.ChannelsCall)
		}
	}
	if full < s.Channels {
		normalize(y.from(full), z.from(full), f.from(full), s)
	}
}

// NormalizeAdd computes y = max(A·z + B + r, Floor).
func (t Tier) NormalizeAdd(y, z, r Plane, f Affine, s Size) {
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&y.V[0], &z.V[0], &r.V[0]},
		Steps:  [6]int{4 * y.Step, 4 * z.Step, 4 * r.Step},
		Floor:  f.Floor,
	}}
	full := call.begin(t, s, f.A, f.B, nil)
	if full > 0 {
		if t == AVX512 {
			asm.NormalizeAddAVX512(&call.ChannelsCall)
		} else {
			asm.NormalizeAddAVX2(&call.ChannelsCall)
		}
	}
	if full < s.Channels {
		normalizeAdd(y.from(full), z.from(full), r.from(full), f.from(full), s)
	}
}

// Linear is u, v → K·u + (P·v + Q) with coefficients per channel.
type Linear struct{ K, P, Q []float32 }

// Combine computes dz = K·dy + (P·z + Q).
func (t Tier) Combine(dz, dy, z Plane, l Linear, s Size) {
	call := channelsCall{asm.ChannelsCall{
		Planes: [6]*float32{&dz.V[0], &dy.V[0], &z.V[0]},
		Steps:  [6]int{4 * dz.Step, 4 * dy.Step, 4 * z.Step},
	}}
	full := call.begin(t, s, l.K, l.P, l.Q)
	if full > 0 {
		if t == AVX512 {
			asm.CombineAVX512(&call.ChannelsCall)
		} else {
			asm.CombineAVX2(&call.ChannelsCall)
		}
	}
	if full < s.Channels {
		combine(dz.from(full), dy.from(full), z.from(full), l.from(full), s)
	}
}

// A channelsCall holds the arguments of the assembly.
type channelsCall struct{ asm.ChannelsCall }

// begin sets the fields common to all calls and returns the number of channels for the assembly.
func (call *channelsCall) begin(t Tier, s Size, coefficients ...[]float32) int {
	if t == Off || s.Channels < Lanes || s.Rows == 0 || s.Pixels == 0 {
		return 0
	}
	for i, c := range coefficients {
		if c != nil {
			call.Coefficients[i] = &c[0]
		}
	}
	call.image(s)
	call.Groups, call.Done = s.Channels/Lanes, 0
	if t == AVX2 {
		call.Groups *= 2
	}
	return s.Channels / Lanes * Lanes
}

// image sets the fields of the pixels.
func (call *channelsCall) image(s Size) {
	call.Rows, call.Quads, call.Singles, call.Pixel = s.Rows, s.Pixels/4, s.Pixels%4, 4*s.Channels
}

// next prepares the next call of a kernel that leaves no channel to plain Go, and returns whether there is one. The
// first takes the channels that fill vectors, the second those of a part of one.
func (call *channelsCall) next(t Tier, s Size) bool {
	lanes, left := Lanes, s.Channels-call.Done/4
	if t == AVX2 {
		lanes /= 2
	}
	if left <= 0 || s.Rows == 0 || s.Pixels == 0 {
		return false
	}
	call.image(s)
	if call.Groups = left / lanes; call.Groups == 0 {
		call.Groups, call.Mask = 1, laneMask(left)
	}
	return true
}

// part reports whether the call is for a part of a vector.
func (call *channelsCall) part() bool { return call.Mask[0] != 0 }

// from returns the plane without the first channels.
func (p Plane) from(channels int) Plane { return Plane{p.V[channels:], p.Step} }

// from returns the sums without the first channels.
func (s Sums) from(channels int) Sums { return Sums{s.U[channels:], s.UV[channels:]} }

// from returns f without the first channels.
func (f Affine) from(channels int) Affine { return Affine{f.A[channels:], f.B[channels:], f.Floor} }

// from returns l without the first channels.
func (l Linear) from(channels int) Linear {
	return Linear{l.K[channels:], l.P[channels:], l.Q[channels:]}
}

// moments is the definition of Moments for the first len(to.U) channels.
func moments(to Sums, u, v Plane, s Size) {
	for c := range to.U {
		var first, second [4]float32
		for r := range s.Rows {
			for j := range s.Pixels {
				i := j % 4
				if j >= s.Pixels&^3 {
					i = 0
				}
				x := u.V[r*u.Step+j*s.Channels+c]
				first[i] += x
				second[i] += float32(x * v.V[r*v.Step+j*s.Channels+c])
			}
		}
		to.U[c] = (first[0] + first[1]) + (first[2] + first[3])
		to.UV[c] = (second[0] + second[1]) + (second[2] + second[3])
	}
}

// mask sets the first wide channels of u to zero where y is not positive.
func mask(u, y Plane, s Size, wide int) {
	for r := range s.Rows {
		for j := range s.Pixels {
			for c := range wide {
				if y.V[r*y.Step+j*s.Channels+c] <= 0 {
					u.V[r*u.Step+j*s.Channels+c] = 0
				}
			}
		}
	}
}

func normalize(y, z Plane, f Affine, s Size) {
	a, b, floor := f.A, f.B, f.Floor
	for r := range s.Rows {
		for j := range s.Pixels {
			to, from := y.V[r*y.Step+j*s.Channels:], z.V[r*z.Step+j*s.Channels:]
			for c, scale := range a {
				to[c] = max(float32(scale*from[c])+b[c], floor)
			}
		}
	}
}

func normalizeAdd(y, z, r Plane, f Affine, s Size) {
	a, b, floor := f.A, f.B, f.Floor
	for i := range s.Rows {
		for j := range s.Pixels {
			to, from, rest := y.V[i*y.Step+j*s.Channels:], z.V[i*z.Step+j*s.Channels:], r.V[i*r.Step+j*s.Channels:]
			for c, scale := range a {
				to[c] = max(float32(scale*from[c])+b[c]+rest[c], floor)
			}
		}
	}
}

func combine(dz, dy, z Plane, l Linear, s Size) {
	k, p, q := l.K, l.P, l.Q
	for r := range s.Rows {
		for j := range s.Pixels {
			to, d, from := dz.V[r*dz.Step+j*s.Channels:], dy.V[r*dy.Step+j*s.Channels:], z.V[r*z.Step+j*s.Channels:]
			for c := range k {
				to[c] = float32(k[c]*d[c]) + (float32(p[c]*from[c]) + q[c])
			}
		}
	}
}

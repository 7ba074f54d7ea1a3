package kernel

import "gossiptrainer/internal/kernel/asm"

// Rectify and Mask treat rows of any contents as pixels of one vector. Doing a float twice changes nothing, so the last
// vector of a row may overlap the one before.

// Rectify computes y ← max(y, 0) for the first n floats of each row. NaN
// stays.
func (t Tier) Rectify(y Plane, rows, n int) {
	if t == Off || n < Lanes {
		rectify(y, rows, n)
		return
	}
	rectifyVectors(t, y, Size{Rows: rows, Pixels: n / Lanes, Channels: Lanes})
	if n%Lanes > 0 {
		rectifyVectors(t, y.from(n-Lanes), Size{Rows: rows, Pixels: 1, Channels: Lanes})
	}
}

// rectifyVectors is Rectify for rows of whole vectors.
func rectifyVectors(t Tier, y Plane, s Size) {
	call := channelsCall{asm.ChannelsCall{Planes: [6]*float32{&y.V[0]}, Steps: [6]int{4 * y.Step}}}
	switch call.begin(t, s); {
	case s.Rows == 0:
	case t == AVX512:
		asm.RectifyAVX512(&call.ChannelsCall)
	default:
		asm.RectifyAVX2(&call.ChannelsCall)
	}
}

// rectify is the definition of Rectify.
func rectify(y Plane, rows, n int) {
	for r := range rows {
		row := y.V[r*y.Step:][:n]
		for i, v := range row {
			if v < 0 {
				row[i] = 0
			}
		}
	}
}

// Mask sets the first n floats of each row of u to zero where y is not
// positive.
func (t Tier) Mask(u, y Plane, rows, n int) {
	if t == Off || n < Lanes {
		mask(u, y, Size{Rows: rows, Pixels: n, Channels: 1}, 1)
		return
	}
	maskVectors(t, u, y, Size{Rows: rows, Pixels: n / Lanes, Channels: Lanes})
	if n%Lanes > 0 {
		maskVectors(t, u.from(n-Lanes), y.from(n-Lanes), Size{Rows: rows, Pixels: 1, Channels: Lanes})
	}
}

// maskVectors is Mask for rows of whole vectors.
func maskVectors(t Tier, u, y Plane, s Size) {
	call := channelsCall{asm.ChannelsCall{Planes: [6]*float32{&u.V[0], &y.V[0]}, Steps: [6]int{4 * u.Step, 4 * y.Step}}}
	switch call.begin(t, s); {
	case s.Rows == 0:
	case t == AVX512:
		asm.MaskAVX512(&call.ChannelsCall)
	default:
		asm.MaskAVX2(&call.ChannelsCall)
	}
}

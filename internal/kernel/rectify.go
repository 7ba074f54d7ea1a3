package kernel

import "gossiptrainer/internal/kernel/asm"

// Rectify and Mask treat rows of any contents as pixels of one vector.

// Rectify computes y ← max(y, 0) for the first n floats of each row. NaN
// stays.
func (t Tier) Rectify(y Plane, rows, n int) {
	call := channelsCall{asm.ChannelsCall{Planes: [6]*float32{&y.V[0]}, Steps: [6]int{4 * y.Step}}}
	full := call.begin(t, Size{Rows: rows, Pixels: n / Lanes, Channels: Lanes}) * (n / Lanes)
	if full > 0 {
		if t == AVX512 {
			asm.RectifyAVX512(&call.ChannelsCall)
		} else {
			asm.RectifyAVX2(&call.ChannelsCall)
		}
	}
	for r := range rows {
		row := y.V[r*y.Step:][full:n]
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
	call := channelsCall{asm.ChannelsCall{Planes: [6]*float32{&u.V[0], &y.V[0]}, Steps: [6]int{4 * u.Step, 4 * y.Step}}}
	full := call.begin(t, Size{Rows: rows, Pixels: n / Lanes, Channels: Lanes}) * (n / Lanes)
	if full > 0 {
		if t == AVX512 {
			asm.MaskAVX512(&call.ChannelsCall)
		} else {
			asm.MaskAVX2(&call.ChannelsCall)
		}
	}
	for r := range rows {
		to, from := u.V[r*u.Step:][full:n], y.V[r*y.Step:][full:n]
		for i, v := range from {
			if v <= 0 {
				to[i] = 0
			}
		}
	}
}

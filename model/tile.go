package model

// The two inner loops in which nearly all time goes. Both keep a tile of 2×4
// sums in registers, which is what pure Go has registers for; a faster kernel
// replaces them together with the panel layout. Every product is rounded
// before it is added, so that no compiler fuses the two.

// tileRows × tileCols sums are computed per call.
const (
	tileRows = 2
	tileCols = 4
)

// A sums is a tile of sums, [tileRows][tileCols].
type sums [tileRows * tileCols]float32

// A panel holds tileCols columns of a matrix, one group per row.
type panel [][tileCols]float32

// panels returns how many panels hold n columns.
func panels(n int) int { return (n + tileCols - 1) / tileCols }

// pack copies the row-major matrix w with len(w)/cols rows into panels, one
// after another in dst; missing columns of the last panel are zero.
func pack(dst panel, w []float32, cols int) {
	rows := len(w) / cols
	for p := range panels(cols) {
		first := p * tileCols
		for r := range rows {
			var group [tileCols]float32
			copy(group[:], w[r*cols+first:(r+1)*cols])
			dst[p*rows+r] = group
		}
	}
}

// packTransposed does as pack for the transpose of w, which has cols rows and
// len(w)/cols columns.
func packTransposed(dst panel, w []float32, cols int) {
	rows := len(w) / cols
	for p := range panels(rows) {
		first := p * tileCols
		for c := range cols {
			var group [tileCols]float32
			for j := range min(tileCols, rows-first) {
				group[j] = w[(first+j)*cols+c]
			}
			dst[p*cols+c] = group
		}
	}
}

// tile adds Σ_k a_r[k]·w[k][j] to s[r][j] for two rows and one panel.
func tile(s *sums, a0, a1 []float32, w panel) {
	s00, s01, s02, s03 := s[0], s[1], s[2], s[3]
	s10, s11, s12, s13 := s[4], s[5], s[6], s[7]
	a1, w = a1[:len(a0)], w[:len(a0)]
	for k, x := range a0 {
		y, p := a1[k], &w[k]
		w0, w1, w2, w3 := p[0], p[1], p[2], p[3]
		s00 += float32(x * w0)
		s01 += float32(x * w1)
		s02 += float32(x * w2)
		s03 += float32(x * w3)
		s10 += float32(y * w0)
		s11 += float32(y * w1)
		s12 += float32(y * w2)
		s13 += float32(y * w3)
	}
	*s = sums{s00, s01, s02, s03, s10, s11, s12, s13}
}

// Positions are where two flat arrays are walked together: h rows of w steps.
type positions struct {
	h, w int
	a, b stride // of the first and of the second array
}

// A stride is the distance from one position to the next, within a row and
// from row to row.
type stride struct{ x, y int }

// addOuter adds Σ_p a[p+i]·b[p+j] to the row-major matrix dst[i][j] of cols
// columns, where p runs over the positions.
func addOuter(dst, a, b []float32, cols int, at positions) {
	rows, full := len(dst)/cols, cols-cols%tileCols
	for i := 0; i+tileRows <= rows; i += tileRows {
		for j := 0; j < full; j += tileCols {
			var s sums
			outer(&s, a[i:], b[j:], at)
			for r := range tileRows {
				d := dst[(i+r)*cols+j:][:tileCols]
				for c := range d {
					d[c] += s[r*tileCols+c]
				}
			}
		}
	}
	for i := range rows { // what fills no tile
		first := full
		if i == rows-1 && rows%tileRows == 1 {
			first = 0
		}
		for j := first; j < cols; j++ {
			dst[i*cols+j] += outerOne(a[i:], b[j:], at)
		}
	}
}

// outer adds Σ_p a[p+i]·b[p+j] to s[i][j].
func outer(s *sums, a, b []float32, at positions) {
	s00, s01, s02, s03 := s[0], s[1], s[2], s[3]
	s10, s11, s12, s13 := s[4], s[5], s[6], s[7]
	for y := range at.h {
		i, j := y*at.a.y, y*at.b.y
		for range at.w {
			p, q := a[i:i+2:i+2], b[j:j+4:j+4]
			x0, x1 := p[0], p[1]
			w0, w1, w2, w3 := q[0], q[1], q[2], q[3]
			s00 += float32(x0 * w0)
			s01 += float32(x0 * w1)
			s02 += float32(x0 * w2)
			s03 += float32(x0 * w3)
			s10 += float32(x1 * w0)
			s11 += float32(x1 * w1)
			s12 += float32(x1 * w2)
			s13 += float32(x1 * w3)
			i += at.a.x
			j += at.b.x
		}
	}
	*s = sums{s00, s01, s02, s03, s10, s11, s12, s13}
}

// outerOne returns Σ_p a[p]·b[p].
func outerOne(a, b []float32, at positions) (s float32) {
	for y := range at.h {
		i, j := y*at.a.y, y*at.b.y
		for range at.w {
			s += float32(a[i] * b[j])
			i += at.a.x
			j += at.b.x
		}
	}
	return s
}

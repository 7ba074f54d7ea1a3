package kernel

import "gossiptrainer/internal/kernel/asm"

// Lanes is the number of columns in a panel.
const Lanes = asm.Lanes

// A Panel holds Lanes columns of a matrix, one group per row. A matrix with more columns has several
// panels one after another. The missing columns of the last are zero.
type Panel [][Lanes]float32

// Panels returns the number of panels of n columns.
func Panels(n int) int { return (n + Lanes - 1) / Lanes }

// PackPanels copies the row-major matrix w with len(w)/cols rows into panels.
func (t Tier) PackPanels(dst Panel, w []float32, cols int) { t.PackColumns(dst, w, cols, 0, cols) }

// PackColumns is PackPanels for the columns first to end−1 alone.
func (t Tier) PackColumns(dst Panel, w []float32, cols, first, end int) {
	rows := len(w) / cols
	for ; first < end; first += Lanes {
		panel := dst[:rows]
		dst = dst[rows:]
		last := min(first+Lanes, end)
		switch {
		case rows > 0 && first+Lanes == last && t == AVX512:
			asm.PanelAVX512(&panel[0][0], &w[first], rows, cols)
		case rows > 0 && first+Lanes == last && t == AVX2:
			asm.PanelAVX2(&panel[0][0], &w[first], rows, cols)
		default:
			for r := range panel {
				clear(panel[r][copy(panel[r][:], w[r*cols+first:r*cols+last]):])
			}
		}
	}
}

// PackPanelsTransposed is PackPanels for the transpose of w, which has cols rows and len(w)/cols
// columns. Panels begin size groups apart.
func PackPanelsTransposed(dst Panel, size int, w []float32, cols int) {
	rows := len(w) / cols
	for p := range Panels(rows) {
		first := p * Lanes
		panel := dst[p*size:][:cols]
		for j := range Lanes {
			if first+j >= rows {
				for c := range panel {
					panel[c][j] = 0
				}
				continue
			}
			for c, v := range w[(first+j)*cols : (first+j+1)*cols] {
				panel[c][j] = v
			}
		}
	}
}

// laneMask has all bits set in the first n lanes.
func laneMask(n int) (m [Lanes]int32) {
	for i := range min(n, Lanes) {
		m[i] = -1
	}
	return m
}

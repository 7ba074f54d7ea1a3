package topology

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Modes are the eigenpairs of W, by decreasing eigenvalue.
type modes struct {
	values  []float64
	vectors [][]float64 // vectors[m] belongs to values[m]; of length 1
}

func (g *Graph) modes() (modes, error) {
	var solver mat.EigenSym
	if !solver.Factorize(g.W(), true) {
		return modes{}, fmt.Errorf("topology: spectrum of %v: the eigenvalues did not converge", g.spec)
	}
	var columns mat.Dense
	solver.VectorsTo(&columns)
	m := modes{values: solver.Values(nil), vectors: make([][]float64, g.N())}
	for i := range m.vectors {
		m.vectors[i] = mat.Col(nil, i, &columns)
	}
	slices.Reverse(m.values)
	slices.Reverse(m.vectors)
	return m, nil
}

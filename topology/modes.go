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
	if !solver.Factorize(g.symmetric(), true) {
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

// symmetric returns the matrix of a static graph.
func (g *Graph) symmetric() *mat.SymDense {
	w := mat.NewSymDense(g.N(), nil)
	for i, row := range g.Rows(0) {
		w.SetSym(i, i, row.Self)
		for _, e := range row.In {
			w.SetSym(i, int(e.Peer), e.Weight)
		}
	}
	return w
}

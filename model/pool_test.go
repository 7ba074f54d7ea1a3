package model

import (
	"slices"
	"testing"

	"gossiptrainer/internal/kernel"
)

func TestMaxPoolTiesGoToTheFirstPixel(t *testing.T) {
	l := newBench(kernel.Best(), 1, 2, 4, 1, 0, func(b *builder, in node) node { return b.maxPool(in, 0) })
	copy(l.input, []float32{
		1, 3, 2, 2,
		3, 3, 2, 2,
	})
	copy(l.direction.v, []float32{5, 7})
	l.gradient()
	want := []float32{
		0, 5, 7, 0,
		0, 0, 0, 0,
	}
	if !slices.Equal(l.in.grad.v, want) {
		t.Errorf("gradient %v, want %v", l.in.grad.v, want)
	}
}

func TestPoolsKeepMaximumAndMean(t *testing.T) {
	in := []float32{
		1, -1, 3, -3, 5, -5, 7, -7,
		2, -2, 4, -4, 6, -6, 8, -8,
	} // 2 rows of 4 pixels of 2 channels
	tests := map[string]struct {
		build func(b *builder, in node) node
		want  []float32
	}{
		"max":  {func(b *builder, in node) node { return b.maxPool(in, 1) }, []float32{4, -1, 8, -5}},
		"mean": {(*builder).meanPool, []float32{4.5, -4.5}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newBench(kernel.Best(), 1, 2, 4, 2, 0, tt.build)
			copy(l.input, in)
			l.loss()
			if got := l.out.value.row(0, 0); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

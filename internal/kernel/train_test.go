package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/rng"
)

// numbers returns n uniform numbers of [−1, 1), which depend only on round.
func numbers(n, round int) []float32 {
	x, key := make([]float32, n), rng.At(97, round)
	for i := range x {
		x[i] = 2*key.Uniform(uint32(i)) - 1
	}
	return x
}

// near reports whether two sums of n products of numbers below one agree up to rounding.
func near(a, b []float32, n int) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Abs(float64(x)-float64(y)) <= 1e-7*float64(n+4)
	})
}

// A windowCase is a convolution of k×k windows over an image with a border.
type windowCase struct{ images, h, w, c, k, step, channels int }

// build returns the image, the window, the weights and the quads of a case.
func (s windowCase) build() (in []float32, win *Window, f *Filter, quads []Quad) {
	wide, high := (s.w-1)*s.step+s.k, (s.h-1)*s.step+s.k
	in = numbers(s.images*wide*high*s.c, 1)
	win = &Window{Rows: s.k, Len: s.k * s.c, Step: wide * s.c}
	for i := range 4 {
		x := min(i, s.w-1)
		win.In[i], win.Out[i] = x*s.step*s.c, x*s.channels
	}
	for r := range s.images * s.h {
		b, i := r/s.h, r%s.h
		for j := 0; j < s.w; j += 4 {
			x := max(0, min(j, s.w-4))
			quads = append(quads, Quad{
				In:  ((b*high+i*s.step)*wide + x*s.step) * s.c,
				Out: ((b*s.h+i)*s.w + x) * s.channels,
			})
		}
	}
	w := numbers(s.k*s.k*s.c*s.channels, 2)
	f = &Filter{Weights: make(Panel, Panels(s.channels)*s.k*s.k*s.c), Start: make(Panel, Panels(s.channels)),
		Channels: s.channels}
	Off.PackPanels(f.Weights, w, s.channels)
	Off.PackPanels(f.Start, numbers(s.channels, 3), s.channels)
	return in, win, f, quads
}

var windowCases = []windowCase{
	{1, 1, 1, 1, 1, 1, 1},
	{2, 3, 5, 3, 3, 1, 7},
	{1, 4, 4, 2, 3, 2, 16},
	{3, 2, 2, 5, 3, 1, 33},
	{1, 8, 8, 16, 3, 1, 16},
	{1, 5, 9, 6, 5, 1, 17},
	{2, 4, 6, 4, 1, 1, 80},
	{1, 2, 7, 8, 3, 2, 47},
}

func TestPanelsHoldTheMatrix(t *testing.T) {
	for _, s := range []struct{ rows, cols int }{{1, 1}, {3, 16}, {5, 40}, {7, 64}, {2, 33}} {
		w := numbers(s.rows*s.cols, 1)
		transposed := make([]float32, len(w))
		for i, v := range w {
			transposed[i%s.cols*s.rows+i/s.cols] = v
		}
		for _, tier := range Available() {
			got, turned := make(Panel, Panels(s.cols)*s.rows), make(Panel, Panels(s.cols)*s.rows)
			for i := range got {
				got[i][Lanes-1], turned[i][Lanes-1] = 9, 9 // must be cleared where there is no column
			}
			tier.PackPanels(got, w, s.cols)
			PackPanelsTransposed(turned, s.rows, transposed, s.rows)
			for i := range got {
				for lane := range Lanes {
					r, c, want := i%s.rows, i/s.rows*Lanes+lane, float32(0)
					if c < s.cols {
						want = w[r*s.cols+c]
					}
					if got[i][lane] != want || turned[i][lane] != want {
						t.Fatalf("%v %+v: row %d column %d is %v, transposed %v, want %v", tier, s, r, c,
							got[i][lane], turned[i][lane], want)
					}
				}
			}
		}
	}
}

func TestConvolveIsItsDefinition(t *testing.T) {
	for _, s := range windowCases {
		in, win, f, quads := s.build()
		win.Ahead = numbers(900, 8)
		want := make([]float32, s.images*s.h*s.w*s.channels)
		for _, q := range quads {
			for i := range 4 {
				for o := range s.channels {
					sum := float64(f.Start[o/Lanes][o%Lanes])
					for r := range win.Rows {
						for j := range win.Len {
							w := f.Weights[o/Lanes*win.Rows*win.Len+r*win.Len+j][o%Lanes]
							sum += float64(in[q.In+win.In[i]+r*win.Step+j]) * float64(w)
						}
					}
					want[q.Out+win.Out[i]+o] = float32(sum)
				}
			}
		}
		var first []float32
		for _, tier := range Available() {
			t.Run(fmt.Sprintf("%v %+v", tier, s), func(t *testing.T) {
				got := numbers(len(want)+Lanes, 4)
				beyond := slices.Clone(got[len(want):])
				tier.Convolve(got[:len(want)], in, win, f, quads)
				if !near(got[:len(want)], want, win.Rows*win.Len) {
					t.Errorf("%v, want %v", got[:len(want)], want)
				}
				if !slices.Equal(got[len(want):], beyond) {
					t.Error("wrote beyond the outputs")
				}
				if tier == Off {
					return
				}
				if first != nil && !slices.Equal(first, got[:len(want)]) {
					t.Error("not the bits of the tier below")
				}
				first = got[:len(want)]
			})
		}
	}
}

func TestConvolveOfAnEmptyWindowIsItsStart(t *testing.T) {
	for _, tier := range Available() {
		f := &Filter{Start: Panel{{1, 2, 3}}, Channels: 3}
		out := make([]float32, 12)
		tier.Convolve(out, []float32{0}, &Window{Out: [4]int{0, 3, 6, 9}}, f, []Quad{{}})
		if want := []float32{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}; !slices.Equal(out, want) {
			t.Errorf("%v: %v, want %v", tier, out, want)
		}
	}
}

func TestOuterIsItsDefinition(t *testing.T) {
	for _, s := range []struct{ quads, columns int }{{1, 1}, {2, 16}, {3, 32}, {4, 33}, {7, 10}, {6, 16}, {8, 64},
		{13, 49}} {
		const wide = 3
		w := Walk{Count: [3]int{2, 3, wide}, StepA: [3]int{400, 90, 7}, StepB: [3]int{1000, 230, 70},
			Ahead: numbers(900, 8)}
		a, b := numbers(800, 5), numbers(2000, 6)
		quads := make([]Quad, s.quads)
		for q := range quads {
			quads[q] = Quad{In: 5 + q*3, Out: 4 * q * s.columns} // inputs overlap
		}
		start := numbers(4*s.quads*s.columns, 7)
		want := make([]float32, len(start))
		for place := range want {
			q, i, c := place/s.columns/4, place/s.columns%4, place%s.columns
			sum := 0.0
			for p := range 2 * 3 * wide {
				image, row, x := p/(3*wide), p/wide%3, p%wide
				sum += float64(a[image*400+row*90+x*7+quads[q].In+i]) * float64(b[image*1000+row*230+x*70+c])
			}
			want[place] = float32(sum)
		}
		var first []float32
		for _, tier := range Available() {
			t.Run(fmt.Sprintf("%v %+v", tier, s), func(t *testing.T) {
				sums := slices.Clone(start)
				tier.AddOuter(sums, a, b, Products{s.columns, quads, &w})
				if tier > AVX2 && !slices.Equal(first, sums) {
					t.Error("not the bits of the tier below")
				}
				first = slices.Clone(sums)
				for i := range sums {
					sums[i] -= start[i]
				}
				if !near(sums, want, 18) {
					t.Errorf("added %v, want %v", sums, want)
				}
				if tier.Outer(sums, a, b, Products{s.columns, quads, &w}); !near(sums, want, 18) {
					t.Errorf("%v, want %v", sums, want)
				}
			})
		}
	}
}

// Rows that two quads share are the same in both.
func TestQuadsOfOuterMayOverlap(t *testing.T) {
	for _, tier := range Available() {
		a, b := numbers(7*5, 1), numbers(7*18, 2)
		w := Walk{Count: [3]int{1, 1, 7}, StepA: [3]int{0, 0, 5}, StepB: [3]int{0, 0, 18}}
		got, want := make([]float32, 5*18), make([]float32, 8*18)
		tier.Outer(got, a, b, Products{18, []Quad{{}, {In: 1, Out: 18}}, &w})
		tier.Outer(want, a, b, Products{18, []Quad{{}}, &w})
		tier.Outer(want[4*18:], a, b, Products{18, []Quad{{In: 1}}, &w})
		if !slices.Equal(got[:4*18], want[:4*18]) || !slices.Equal(got[4*18:], want[7*18:]) {
			t.Errorf("%v: %v, want %v", tier, got, want)
		}
	}
}

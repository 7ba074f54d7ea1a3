package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// sizes are images with full and partial vectors of channels, and with rows of multiples of four
// pixels and others.
var sizes = []Size{{1, 1, 1}, {2, 3, 6}, {3, 4, 16}, {1, 9, 16}, {5, 8, 32}, {2, 7, 37}, {4, 2, 64}, {1, 40, 10}}

// planes returns n planes with room for images of twice a size, each with its own gaps between the
// rows.
func planes(n int, s Size) []Plane {
	p := make([]Plane, n)
	for i := range p {
		step := 2*s.Pixels*s.Channels + 3*i + 1
		p[i] = Plane{numbers(2*s.Rows*step+Lanes, i+1), step}
	}
	return p
}

// A passCase runs a kernel over planes with coefficients. The kernel may change all of them.
type passCase struct {
	name string
	run  func(t Tier, p []Plane, k [][]float32, s Size)
}

var passes = []passCase{
	{"ChannelSums", func(t Tier, p []Plane, k [][]float32, s Size) { ChannelSums(t, k[0], p[0], s) }},
	{"Moments", func(t Tier, p []Plane, k [][]float32, s Size) { t.Moments(Sums{k[0], k[1]}, p[0], p[1], s) }},
	{"MaskedMoments", func(t Tier, p []Plane, k [][]float32, s Size) {
		t.MaskedMoments(Sums{k[0], k[1]}, p[0], p[1], p[2], s)
	}},
	{"Normalize", func(t Tier, p []Plane, k [][]float32, s Size) { t.Normalize(p[0], p[1], Affine{k[0], k[1], 0}, s) }},
	{"Normalize without a floor", func(t Tier, p []Plane, k [][]float32, s Size) {
		t.Normalize(p[0], p[1], Affine{k[0], k[1], float32(math.Inf(-1))}, s)
	}},
	{"NormalizeAdd", func(t Tier, p []Plane, k [][]float32, s Size) {
		t.NormalizeAdd(p[0], p[1], p[2], Affine{A: k[0], B: k[1]}, s)
	}},
	{"Combine", func(t Tier, p []Plane, k [][]float32, s Size) {
		t.Combine(p[0], p[1], p[2], Linear{k[0], k[1], k[2]}, s)
	}},
	{"Rectify", func(t Tier, p []Plane, _ [][]float32, s Size) { t.Rectify(p[0], s.Rows, s.Pixels*s.Channels) }},
	{"MaxPool", func(t Tier, p []Plane, _ [][]float32, s Size) { t.MaxPool(p[0], p[1], s) }},
	{"MaxPoolGradient", func(t Tier, p []Plane, _ [][]float32, s Size) {
		for i, v := range p[1].V {
			p[1].V[i] = float32(int(2 * v)) // so that some are equal
		}
		Off.MaxPool(p[2], p[1], s)
		t.MaxPoolGradient(p[0], p[1], p[2], p[3], s)
	}},
	{"Mask", func(t Tier, p []Plane, _ [][]float32, s Size) { t.Mask(p[0], p[1], s.Rows, s.Pixels*s.Channels) }},
}

// after runs the pass and returns all data that it can have written.
func (c passCase) after(t Tier, s Size) []float32 {
	p, k := planes(4, s), make([][]float32, 3)
	for i := range k {
		k[i] = numbers(s.Channels+Lanes, i+4)
	}
	c.run(t, p, [][]float32{k[0][:s.Channels], k[1][:s.Channels], k[2][:s.Channels]}, s)
	return slices.Concat(p[0].V, p[1].V, p[2].V, p[3].V, k[0], k[1], k[2])
}

// Every tier has the results of plain Go, up to the rounding of products, and the tiers with assembly
// have the same bits. The comparison covers the data between and beyond the rows too.
func TestPassesAreThoseOfPlainGo(t *testing.T) {
	for _, c := range passes {
		for _, s := range sizes {
			want := c.after(Off, s)
			for i, tier := range Available()[1:] {
				t.Run(fmt.Sprintf("%s/%v %+v", c.name, tier, s), func(t *testing.T) {
					got := c.after(tier, s)
					if !near(got, want, s.Rows*s.Pixels) {
						t.Errorf("%v, want %v", got, want)
					}
					if i > 0 && !slices.Equal(got, c.after(tier-1, s)) {
						t.Error("not the bits of the tier below")
					}
				})
			}
		}
	}
}

func TestPassesOfPlainGo(t *testing.T) {
	s := Size{Rows: 2, Pixels: 2, Channels: 2}
	image := func() Plane { return Plane{[]float32{1, -2, 3, -4, 0, 5, -6, 7, 8}, 5} } // a gap of one
	one := func() Plane { return Plane{[]float32{1, 1, -1, 1, 0, 1, 1, 0, 1}, 5} }
	u, y, sum, product := image(), image(), make([]float32, 2), make([]float32, 2)
	Off.Moments(Sums{sum, product}, u, u, s)
	if want := []float32{1 + 3 + 5 + 7, -2 - 4 - 6 + 8}; !slices.Equal(sum, want) {
		t.Errorf("sums %v, want %v", sum, want)
	}
	if want := []float32{1 + 9 + 25 + 49, 4 + 16 + 36 + 64}; !slices.Equal(product, want) {
		t.Errorf("sums of products %v, want %v", product, want)
	}
	Off.MaskedMoments(Sums{sum, product}, u, one(), one(), s)
	if want := []float32{1, -2, 0, -4, 0, 5, -6, 0, 8}; !slices.Equal(u.V, want) {
		t.Errorf("masked %v, want %v", u.V, want)
	}
	if want := []float32{1 + 5, -2 - 4 - 6 + 8}; !slices.Equal(sum, want) || !slices.Equal(product, want) {
		t.Errorf("masked sums %v and %v, want %v", sum, product, want)
	}
	Off.NormalizeAdd(y, image(), one(), Affine{A: []float32{2, 1}, B: []float32{1, 10}}, s)
	if want := []float32{4, 9, 6, 7, 0, 12, 5, 15, 19}; !slices.Equal(y.V, want) {
		t.Errorf("normalized %v, want %v", y.V, want)
	}
	Off.Combine(y, one(), image(), Linear{[]float32{2, 1}, []float32{3, -1}, []float32{10, 20}}, s)
	if want := []float32{15, 23, 17, 25, 0, 27, 27, 31, 13}; !slices.Equal(y.V, want) {
		t.Errorf("combined %v, want %v", y.V, want)
	}
}

// NaN passes a ReLU, so that divergence stays visible.
func TestRectifyKeepsNaN(t *testing.T) {
	for _, tier := range Available() {
		x := make([]float32, 20)
		for i := range x {
			x[i] = float32(math.NaN())
		}
		tier.Rectify(Plane{x, 0}, 1, len(x))
		y := slices.Clone(x)
		tier.Normalize(Plane{y[:16], 0}, Plane{x[:16], 0}, Affine{A: x[:16], B: x[:16]}, Size{1, 1, 16})
		for i, v := range slices.Concat(x, y) {
			if v == v {
				t.Errorf("%v: value %d is %v", tier, i, v)
			}
		}
	}
}

package glyphs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func newPen(t testing.TB) *Pen {
	t.Helper()
	p, err := NewPen()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPicturesArePinned fixes the bits of the set: all runs on record were trained on them.
func TestPicturesArePinned(t *testing.T) {
	p := newPen(t)
	pix := make([]uint8, side*side)
	h := sha256.New()
	for i := range 1000 {
		p.Draw(pix, 1, i)
		h.Write(pix)
	}
	const want = "f2da34d7bc27fb9e2b1963271f084a8b58794f08b4ad8e9066c4473eae35f33b"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("digest of the first 1000 pictures of seed 1 = %s, want %s", got, want)
	}
}

func TestPictureIsAFunctionOfSeedAndIndex(t *testing.T) {
	draw := func(p *Pen, seed uint64, index int) []byte {
		pix := make([]byte, side*side)
		p.Draw(pix, seed, index)
		return pix
	}
	used := newPen(t)
	draw(used, 5, 5)
	base := draw(newPen(t), 3, 42)
	if !bytes.Equal(base, draw(used, 3, 42)) {
		t.Error("a pen that has drawn before draws another picture")
	}
	if bytes.Equal(base, draw(used, 4, 42)) {
		t.Error("another seed gives the same picture")
	}
	if bytes.Equal(base, draw(used, 3, 52)) {
		t.Error("another picture of the same digit is the same")
	}
}

func TestEveryFaceHasTenDigitsOfHeightOne(t *testing.T) {
	p := newPen(t)
	if got, want := len(p.outlines), len(faces()); got != want {
		t.Fatalf("%d faces, want %d", got, want)
	}
	for f, digits := range p.outlines {
		for d, o := range digits {
			low, high := 1.0, -1.0
			for _, contour := range o {
				for _, q := range contour {
					low, high = min(low, q.y), max(high, q.y)
				}
			}
			if high-low < 0.99 || high-low > 1.001 {
				t.Errorf("%s, digit %d: height %.4f, want 1", faces()[f].name, d, high-low)
			}
		}
	}
}

func TestCoverageOfARectangleIsItsArea(t *testing.T) {
	tests := []struct {
		name      string
		x0, y0    float64
		x1, y1    float64
		at        int
		want      int32
		wantTotal int32
		reversed  bool
	}{
		{"whole pixel", 3, 5, 4, 6, 5*side + 3, fullCover, fullCover, false},
		{"whole pixel drawn the other way round", 3, 5, 4, 6, 5*side + 3, fullCover, fullCover, true},
		{"left quarter", 3, 5, 3.25, 6, 5*side + 3, fullCover / 4, fullCover / 4, false},
		{"upper half", 3, 5, 4, 5.5, 5*side + 3, fullCover / 2, fullCover / 2, false},
		{"cut by the left border", -5, 0, 1, 1, 0, fullCover, fullCover, false},
		{"cut by the right border", side - 1, 0, side + 9, 1, side - 1, fullCover, fullCover, false},
		{"cut by the bottom", 0, side - 1, 1, side + 9, (side - 1) * side, fullCover, fullCover, false},
		{"outside", side + 2, 0, side + 9, 1, side - 1, 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			corners := []point{{tt.x0, tt.y0}, {tt.x1, tt.y0}, {tt.x1, tt.y1}, {tt.x0, tt.y1}}
			var c coverage
			for i, a := range corners {
				b := corners[(i+1)%4]
				if tt.reversed {
					a, b = b, a
				}
				c.edge(a, b)
			}
			var got, total int32
			for y := range side {
				for x, share := range c.row(y) {
					total += int32(share)
					if y*side+x == tt.at {
						got = int32(share)
					}
				}
			}
			if got != tt.want || total != tt.wantTotal {
				t.Errorf("cover %d of %d in all, want %d of %d", got, total, tt.want, tt.wantTotal)
			}
		})
	}
}

func TestDrawAllocatesNothing(t *testing.T) {
	p := newPen(t)
	pix := make([]uint8, side*side)
	i := 0
	if got := testing.AllocsPerRun(100, func() { p.Draw(pix, 1, i); i++ }); got != 0 {
		t.Errorf("%v allocations per picture, want 0", got)
	}
}

func BenchmarkDraw(b *testing.B) {
	p := newPen(b)
	pix := make([]uint8, side*side)
	for i := 0; b.Loop(); i++ {
		p.Draw(pix, 1, i)
	}
}

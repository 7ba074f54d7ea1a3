package data

import (
	"slices"
	"testing"

	"gossiptrainer/model/sample"
)

// colours is a set of two samples of 1×2 pixels with 3 channels.
func colours() Set {
	norm := Normalization{Scale: 10, Mean: []float64{0, 1, 2}, Std: []float64{1, 1, 0.5}}
	return Set{
		Shape: sample.Shape{H: 1, W: 2, C: 3}, Classes: []string{"a", "b"},
		labels: []uint8{1, 0}, bytes: []uint8{10, 20, 30, 0, 0, 0, 40, 50, 60, 70, 80, 255}, table: norm.table(),
	}
}

func TestSampleNormalisesEachChannel(t *testing.T) {
	x := make([]float32, 6)
	s := colours()
	s.Sample(x, 0)
	if want := []float32{1, 1, 2, 0, -1, -4}; !slices.Equal(x, want) {
		t.Errorf("sample 0 = %v, want %v", x, want)
	}
	s.Sample(x, 1)
	if want := []float32{4, 4, 8, 7, 7, 47}; !slices.Equal(x, want) {
		t.Errorf("sample 1 = %v, want %v", x, want)
	}
}

func TestGatherKeepsOrderAndRepeats(t *testing.T) {
	var b sample.Batch
	colours().Gather(&b, []int{1, 0, 1})
	if want := []int32{0, 1, 0}; !slices.Equal(b.Y, want) {
		t.Errorf("labels %v, want %v", b.Y, want)
	}
	if b.Len() != 3 || len(b.X) != 18 || b.X[0] != 4 || b.X[6] != 1 || b.X[12] != 4 {
		t.Errorf("features %v", b.X)
	}
}

func TestGatherAllocatesNothingOnceWarm(t *testing.T) {
	s := colours()
	var b sample.Batch
	rows := []int{1, 0, 1, 1}
	s.Gather(&b, rows)
	if got := testing.AllocsPerRun(100, func() { s.Gather(&b, rows); s.Range(&b, 0, 2) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func TestSubsetOwnsItsMemory(t *testing.T) {
	s := colours()
	sub := s.Subset([]int{1})
	s.bytes[6], s.labels[1] = 0, 1
	x := make([]float32, 6)
	sub.Sample(x, 0)
	if x[0] != 4 || sub.Label(0) != 0 || sub.Len() != 1 {
		t.Errorf("subset changed with the set: %v, label %d", x, sub.Label(0))
	}
	if cap(sub.bytes) > 8 {
		t.Errorf("subset of 6 values holds on to %d", cap(sub.bytes))
	}
}

func TestBuilderRefusesBadRows(t *testing.T) {
	for _, tt := range []struct {
		rows []int
		want string
	}{{[]int{0, 3}, "row 3: the set has only 3 rows"}, {[]int{-1}, "row -1"}, {[]int{2, 2}, "row 2: requested twice"}} {
		_, err := newBuilder(tiny(sample.Shape{H: 1, W: 1, C: 1}, 3), 3, tt.rows)
		wantError(t, err, "tiny", tt.want)
	}
}

func TestKnownSetsAreComplete(t *testing.T) {
	for _, s := range Sets() {
		if s.Title == "" || s.Home == "" || s.Terms == "" || s.Train < 1 || s.Test < 1 {
			t.Errorf("%s: a field is empty: %+v", s.Name, s)
		}
		if s.Norm != nil && (len(s.Norm.Mean) != s.Shape.C || len(s.Norm.Std) != s.Shape.C) {
			t.Errorf("%s: %d channels, normalisation for %d", s.Name, s.Shape.C, len(s.Norm.Mean))
		}
		for _, f := range s.Files {
			if len(f.URLs) == 0 && s.Archive == nil {
				t.Errorf("%s: %s: nowhere to fetch it from", s.Name, f.Name())
			}
			for _, known := range f.Known {
				if len(known.SHA256) != 64 || known.Size < 1 {
					t.Errorf("%s: %s: size %d, sum %q", s.Name, known.Name, known.Size, known.SHA256)
				}
			}
		}
	}
}

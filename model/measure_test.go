package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/model/sample"
)

// Measure tells the size of every objective without its memory.
func TestMeasureEqualsTheBuiltModel(t *testing.T) {
	image := sample.Shape{H: 32, W: 32, C: 3}
	for _, s := range []Spec{
		{Name: "logistic"}, {Name: "mlp", Hidden: []int{30, 20}}, {Name: "lenet"},
		{Name: "resnet", Depth: 8, Norm: "group"}, {Name: "vgg11"}, {Name: "vgg16", Norm: "batch"},
		{Name: "quadratic", Dim: 7, Spread: 1},
	} {
		s.Shape, s.Classes, s.Batch = image, 10, 3
		size, err := Measure(s)
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.Layout(), size.Layout); diff != "" || size.Dim != m.Dim() {
			t.Errorf("%s: %d parameters, want %d; layout (-want +got):\n%s", s.Name, size.Dim, m.Dim(), diff)
		}
		if (size.Sample > 0) != (s.Name != "quadratic") {
			t.Errorf("%s: %d floats for a sample", s.Name, size.Sample)
		}
	}
	// 65536² parameters are no reason to allocate any.
	huge := Spec{Name: "mlp", Shape: image, Classes: 10, Hidden: []int{65536, 65536, 65536}}
	if size, err := Measure(huge); err != nil || size.Dim < 2*65536*65536 {
		t.Errorf("%d parameters, error %v", size.Dim, err)
	}
	if _, err := Measure(Spec{Name: "quadratic", Dim: 0}); err == nil {
		t.Error("a quadratic without parameters is measured")
	}
}

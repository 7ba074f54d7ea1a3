package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutlineIsTheSizeOfAnExternalModel(t *testing.T) {
	o := &Outline{Exact: 2, Params: []Param{
		{Name: "fc.weight", Shape: []int{3, 2}}, {Name: "scale", Off: 6}, {Name: "bn.running_mean", Off: 7, Shape: []int{2}},
	}}
	got, err := Measure(Spec{Name: External, Outline: o})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Size{Layout: o.Params, Dim: 9}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := Measure(Spec{Name: External}); err != nil || got.Dim != 0 {
		t.Errorf("without an outline: %v, %v, want the zero size", got, err)
	}
	if _, err := New(Spec{Name: External, Outline: o}); err == nil {
		t.Error("an external model was built")
	}
}

func TestOutlinesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		outline Outline
		want    string
	}{
		{Outline{}, "0 elements: want 1"},
		{Outline{Params: []Param{{Name: "a", Shape: []int{0}}}}, "0 elements: want 1"},
		{Outline{Params: []Param{{Shape: []int{1}}}}, "tensor 0 has no name"},
		{Outline{Params: []Param{{Name: "a", Shape: []int{1}}, {Name: "a", Off: 1, Shape: []int{1}}}},
			`two tensors have the name "a"`},
		{Outline{Params: []Param{{Name: "a", Shape: []int{2}}, {Name: "b", Off: 3, Shape: []int{1}}}},
			`"b" begins at 3, the one before ends at 2`},
		{Outline{Params: []Param{{Name: "a", Shape: []int{-1}}}}, "every size must be 0 to"},
		{Outline{Params: []Param{{Name: "a", Shape: []int{1 << 30, 1 << 30, 1 << 30}}}}, `"a" has more than`},
		{Outline{Params: []Param{{Name: "a", Shape: []int{1 << 30}}, {Name: "b", Off: 1 << 30, Shape: []int{1 << 30}}}},
			"2147483648 elements: want 1"},
		{Outline{Exact: 1, Params: []Param{{Name: "a"}}}, "1 exact elements of 1: want 0 to 0, or there is nothing"},
		{Outline{Exact: -1, Params: []Param{{Name: "a"}}}, "-1 exact elements"},
	} {
		if _, err := Measure(Spec{Name: External, Outline: &test.outline}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want %q", test.outline, err, test.want)
		}
	}
}

// Names, shapes and the exact tail count in the hash of an outline.
func TestHashesTellOutlinesApart(t *testing.T) {
	vector := func() Outline {
		return Outline{Params: []Param{{Name: "w", Shape: []int{2, 2}}, {Name: "mean", Shape: []int{2}, Off: 4}}, Exact: 2}
	}
	seen := map[string]bool{}
	for _, change := range []func(*Outline){
		func(*Outline) {}, func(o *Outline) { o.Exact = 0 }, func(o *Outline) { o.Params[0].Name = "v" },
		func(o *Outline) { o.Params[0].Shape = []int{4} },
	} {
		o := vector()
		change(&o)
		seen[o.Hash()] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d hashes of 4 outlines", len(seen))
	}
	one, same := vector(), vector()
	if one.Hash() != same.Hash() {
		t.Error("equal outlines have two hashes")
	}
	empty, none := vector(), vector()
	empty.Params[1].Shape, none.Params[1].Shape = []int{}, nil
	if empty.Hash() != none.Hash() {
		t.Error("the hash tells an empty shape from a missing one")
	}
}

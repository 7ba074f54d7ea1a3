package script

import (
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
)

// outline returns tensors with these shapes, named by their text, with exact elements at the end.
func outline(exact int, tensors ...bridge.Tensor) bridge.Outline {
	o := bridge.Outline{Tensors: tensors, Exact: exact}
	for _, t := range tensors {
		o.Elements += outlineOf(bridge.Outline{Tensors: []bridge.Tensor{t}}).Dim()
	}
	return o
}

func tensor(name string, shape ...int) bridge.Tensor {
	return bridge.Tensor{Name: name, Shape: shape, Dtype: "float32"}
}

func TestASuccessorKeepsTensorsByNameAndShape(t *testing.T) {
	old := outline(1, tensor("a", 2), tensor("b", 2, 2), tensor("c"))
	next := outline(1, tensor("new", 1), tensor("b", 2, 2), tensor("a", 3), tensor("c"))
	join, err := successor(outlineOf(old), outlineOf(next), vec.AppendLE(nil, []float32{9, 1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	y, err := join([]float32{10, 11, 20, 21, 22, 23, 30})
	if want := []float32{9, 20, 21, 22, 23, 1, 2, 3, 30}; err != nil || !slices.Equal(y, want) {
		t.Errorf("%v, error %v, want %v", y, err, want)
	}
	if _, err := join([]float32{1}); err == nil {
		t.Error("a vector of another length passes")
	}
	if _, err := successor(outlineOf(old), outlineOf(next), make([]byte, 12)); err == nil || err.Error() !=
		"the new tensors have 4 elements, but 12 bytes of values came" {
		t.Errorf("too few values: %v", err)
	}
}

func TestChangesOfTheParametersMustBeTheSame(t *testing.T) {
	root := outline(0, tensor("head.weight", 7, 30), tensor("body.weight", 5))
	for want, own := range map[string]bridge.Outline{
		"": root,
		"head.weight is 5x30 on worker 2 and 7x30 on worker 0": outline(0, tensor("head.weight", 5, 30),
			tensor("body.weight", 5)),
		"worker 2 does not train body.weight, which worker 0 trains now": outline(0, tensor("head.weight", 7, 30)),
		"worker 2 trains tail now, which worker 0 does not": outline(0, tensor("head.weight", 7, 30),
			tensor("body.weight", 5), tensor("tail", 1)),
		"5 elements travel exactly from worker 2, 0 from worker 0": outline(5, root.Tensors...),
	} {
		switch err := sameOutline(own, 2, root, 0); {
		case want == "" && err != nil:
			t.Errorf("the same outline: %v", err)
		case want != "" && (err == nil || err.Error() != want+": all workers make the same change"):
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWhereTheParametersCannotChange(t *testing.T) {
	for want, turns := range map[string]*turns{
		"share no rounds":           {place: Place{Free: true}},
		"goes on without lost work": {place: Place{Sheds: true}},
		"change in round 7 already": {heir: heir{from: 7}},
	} {
		if _, err := turns.refresh(1, nil, 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

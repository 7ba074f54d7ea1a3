package model

import "fmt"

// buildLogistic makes multinomial logistic regression: a convex objective,
// started at zero.
func buildLogistic(b *builder, s Spec) (node, error) {
	return b.dense("dense", b.inputs(s.Shape, 0), s.Classes, zeros), nil
}

// buildMLP makes dense layers with a ReLU after each but the last.
func buildMLP(b *builder, s Spec) (node, error) {
	if len(s.Hidden) == 0 {
		return node{}, fmt.Errorf("no hidden widths: want at least one (a model without is logistic)")
	}
	at := b.inputs(s.Shape, 0)
	for i, width := range s.Hidden {
		if width < 1 {
			return node{}, fmt.Errorf("hidden width %d of layer %d: want at least 1", width, i+1)
		}
		at = b.dense(fmt.Sprintf("dense%d", i+1), at, width, he(at.value.size()))
		b.relu(at)
	}
	fanIn := at.value.size()
	return b.dense(fmt.Sprintf("dense%d", len(s.Hidden)+1), at, s.Classes, narrow(fanIn)), nil
}

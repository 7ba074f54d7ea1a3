package record

import (
	"math"
	"testing"
)

func TestSummariesGradeReplicas(t *testing.T) {
	var s Summary
	s.Grade([]Score{{Loss: 1, Accuracy: 0.5}, {Loss: 4, Accuracy: 0.75}})
	if *s.Loss != 2.5 || *s.Accuracy.Mean != 0.625 || *s.Accuracy.Min != 0.5 {
		t.Errorf("loss %v, accuracy %v and at least %v", *s.Loss, *s.Accuracy.Mean, *s.Accuracy.Min)
	}
	s.Grade([]Score{{Loss: 1, Accuracy: 0.5}, {Loss: 4, Accuracy: math.NaN()}})
	if *s.Loss != 2.5 || s.Accuracy.Mean != nil || s.Accuracy.Min != nil {
		t.Errorf("loss %v, accuracy %v and at least %v; want no accuracies", *s.Loss, s.Accuracy.Mean, s.Accuracy.Min)
	}
}

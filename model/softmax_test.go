package model

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/model/sample"
)

func TestCrossEntropyOfLargeLogits(t *testing.T) {
	logits := []float32{
		1e30, 0, -1e30, // certain and right
		1e4, 0, 1e4 - 3, // far beyond what exp can take
		-500, -500, -500, // all equal
	}
	loss, correct := crossEntropy(logits, []int32{0, 2, 1})
	want := 0 + (3 + math.Log1p(math.Exp(-3))) + math.Log(3)
	if math.Abs(loss-want) > 1e-9 || correct != 1 {
		t.Errorf("loss %v with %d correct, want %v with 1", loss, correct, want)
	}
	d := make([]float32, len(logits))
	if again, c := crossEntropyGradient(d, logits, []int32{0, 2, 1}); again != loss || c != correct {
		t.Errorf("with the gradient loss %v with %d correct, without %v with %d", again, c, loss, correct)
	}
	p := float32(1 / (1 + math.Exp(-3)) / 3)
	for i, w := range []float32{0, 0, 0, p, 0, -p, 1. / 9, 1./9 - 1./3, 1. / 9} {
		if math.Abs(float64(d[i]-w)) > 1e-6 {
			t.Errorf("gradient[%d] = %v, want %v", i, d[i], w)
		}
	}
}

func TestCrossEntropyGradientByFiniteDifferences(t *testing.T) {
	logits, labels := random(make([]float32, 12), 1), []int32{0, 3, 2}
	d := make([]float32, 12)
	crossEntropyGradient(d, logits, labels)
	for i := range logits {
		const h = 1.0 / 128
		z := logits[i]
		logits[i] = z + h
		up, _ := crossEntropy(logits, labels)
		logits[i] = z - h
		down, _ := crossEntropy(logits, labels)
		logits[i] = z
		if want := (up - down) / (2 * h) / 3; math.Abs(float64(d[i])-want) > 1e-5 {
			t.Errorf("gradient[%d] = %v, want %v", i, d[i], want)
		}
	}
}

func TestTiesGoToTheLowestClass(t *testing.T) {
	for label, want := range []int{0, 1, 0, 0} {
		if _, correct := crossEntropy([]float32{1, 2, 2, 2}, []int32{int32(label)}); correct != want {
			t.Errorf("label %d: %d correct, want %d", label, correct, want)
		}
	}
}

// The probabilities of a sample have the sum 1, and those of the labels the loss of an evaluation.
func TestProbabilitiesAgreeWithTheLoss(t *testing.T) {
	for _, spec := range []Spec{
		{Name: "logistic"}, {Name: "mlp", Hidden: []int{7}}, {Name: "lenet"}, {Name: "resnet", Depth: 8, Norm: "batch"},
	} {
		spec.Shape, spec.Classes, spec.Batch = sample.Shape{H: 16, W: 16, C: 1}, 5, 3
		f, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		const samples = 7 // more than fit at a time
		batch := sample.Batch{X: random(make([]float32, samples*256), 2), Y: []int32{0, 1, 2, 3, 4, 0, 1}}
		x := make([]float32, f.Dim())
		f.Init(x, 3)
		want := f.Evaluate(x, batch)
		p := make([]float64, samples*spec.Classes)
		if got := f.(Classifier).Classify(p, x, batch); got != want {
			t.Errorf("%s: score %+v beside probabilities, %+v without", spec.Name, got, want)
		}
		loss, right := 0., 0
		for i, label := range batch.Y {
			one, sum := p[i*spec.Classes:(i+1)*spec.Classes], 0.
			for _, v := range one {
				sum += v
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("%s: sample %d: the probabilities have the sum %v", spec.Name, i, sum)
			}
			if slices.Index(one, slices.Max(one)) == int(label) {
				right++
			}
			loss -= math.Log(one[label]) / samples
		}
		if math.Abs(loss-want.Loss) > 1e-9*want.Loss || float64(right)/samples != want.Accuracy {
			t.Errorf("%s: loss %v with %d right, want %+v", spec.Name, loss, right, want)
		}
	}
}

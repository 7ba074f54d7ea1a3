package algos

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/quant"
)

func topOne(t *testing.T) quant.Compressor {
	t.Helper()
	c, err := quant.NewTopK(1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A newcomer owes nothing: the error of its sponsor is not cloned. A member keeps its own.
func TestAClonedErrorIsForgotten(t *testing.T) {
	gather, server := &AllGather{}, &Server{}
	for i, part := range []*contribution{&gather.part, &server.part} {
		restart := []func(Origin){gather.Restart, server.Restart}[i]
		part.e = []float32{1, 2, 3}
		if restart(Kept); part.e == nil {
			t.Errorf("rule %d: a member forgets its own error", i)
		}
		if restart(Cloned); part.e != nil {
			t.Errorf("rule %d: a newcomer owes the error of its sponsor", i)
		}
	}
}

// The first message after Restart carries the model, and sets s to the mean of the neighbours' models. The second does
// not.
func TestChocoBeginsAtTheModels(t *testing.T) {
	step := func(int) float32 { return 0 }
	choco := func(x ...float32) *Choco {
		c := Compression{Own: topOne(t), In: []quant.Compressor{topOne(t)}}
		a := &Choco{X: x, Alpha: step, Gamma: 0.5, Compression: c}
		a.h, a.s = []float32{9, 9}, []float32{9, 9}
		a.Restart(Kept)
		return a
	}
	a, b := choco(1, 2), choco(3, 6)
	var sent [2][]byte
	var sizes []int
	for k := range 2 {
		for i, rule := range []*Choco{a, b} {
			if err := rule.Descend(k, make([]float32, 2)); err != nil {
				t.Fatal(err)
			}
			var err error
			if sent[i], err = rule.Send(k, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if k == 0 {
			_, err := a.Mix(k, 0, []Message{{From: 1, Weight: 0.5, Payload: sent[1][:3]}})
			var bad *MessageError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), "3 bytes, want at least 8: the first message after a "+
				"change of members carries the model") {
				t.Errorf("error %v", err)
			}
		}
		if _, err := a.Mix(k, 0, []Message{{From: 1, Weight: 0.5, Payload: sent[1]}}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Mix(k, 0, []Message{{From: 0, Weight: 0.5, Payload: sent[0]}}); err != nil {
			t.Fatal(err)
		}
		if sizes = append(sizes, len(sent[1])); k == 1 && sizes[1] != sizes[0]-8 {
			t.Errorf("messages of %v bytes: only the first carries the model", sizes)
		}
		if sum := []float32{a.X[0] + b.X[0], a.X[1] + b.X[1]}; !slices.Equal(sum, []float32{4, 8}) {
			t.Errorf("round %d: the sum of the models is %v, want [4 8]", k, sum)
		}
		if k == 0 && !slices.Equal(a.X, []float32{1.5, 3}) { // half the way to the mean, [2 4]
			t.Errorf("the model is %v, want [1.5 3]", a.X)
		}
	}
}

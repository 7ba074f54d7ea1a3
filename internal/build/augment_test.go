package build

import (
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/summary"
)

// Pictures are changed only on request, and then in the same way whatever the order of the workers.
func TestAugmentationIsARequest(t *testing.T) {
	end := func(step int, set ...string) summary.Results {
		r := assemble(t, append(slices.Clone(quick), set...)...)
		return drive(t, r, workers(t, r), step)
	}
	plain, none := end(1), end(1, "train.augment=none")
	if !slices.Equal(plain.Models.(score.InMemory)[0].X, none.Models.(score.InMemory)[0].X) {
		t.Error("train.augment=none changes the result")
	}
	first, second := end(1, "train.augment=crop-flip"), end(3, "train.augment=crop-flip")
	if slices.Equal(plain.Models.(score.InMemory)[0].X, first.Models.(score.InMemory)[0].X) {
		t.Error("train.augment=crop-flip changes nothing")
	}
	for i := range first.Models.(score.InMemory) {
		if !slices.Equal(first.Models.(score.InMemory)[i].X, second.Models.(score.InMemory)[i].X) {
			t.Errorf("worker %d: the result depends on the order of the workers", i)
		}
	}
}

func TestAugmentationOfOtherSamplesIsRefused(t *testing.T) {
	set := []string{"data={name: a9a, dir: none}", "model.name=logistic", "train.augment=crop-flip"}
	l := load(t, "", set...)
	_, err := experiment.New(l.Config)
	if err == nil || !strings.Contains(err.Error(), "train.augment: samples of a9a are no pictures: must be none") {
		t.Errorf("error %v", err)
	}
	_, err = configs.Load(configs.Source{Env: []string{"PEER_MODEL__NAME=quadratic", "PEER_TRAIN__AUGMENT=crop-flip"}})
	if err == nil || !strings.Contains(err.Error(), "train.augment: has no effect: a quadratic has no samples") {
		t.Errorf("error %v", err)
	}
}

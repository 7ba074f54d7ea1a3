package build

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gossiptrainer/internal/train"
)

func TestARunThatDivergesNamesWhatToChange(t *testing.T) {
	tests := []struct {
		set  []string
		want string
	}{
		{[]string{"algorithm.bits=1", "topology.slack=1"},
			"try topology.slack: auto, which is 0.2 here, instead of 1, or a smaller train.step_size than 0.05"},
		{[]string{"algorithm.bits=1"}, "try more algorithm.bits than 1, or a smaller train.step_size than 0.05"},
		{[]string{"algorithm.name=deepsqueeze", "algorithm.gamma=1", "algorithm.compressor.name=topk"},
			"try algorithm.gamma: auto, which is 0.0"},
		{[]string{"algorithm.name=choco", "algorithm.compressor.name=topk"}, "try a smaller algorithm.gamma than 0.0"},
		{[]string{"algorithm.name=choco", "algorithm.gamma=0.5", "algorithm.compressor={name: qsgd, bits: 2}"},
			"set algorithm.compressor.scaled: true"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor={name: qsgd, bits: 2}"},
			"try a finer algorithm.compressor than qsgd of 2 bits, for dcd"},
		{[]string{"algorithm.name=naive", "algorithm.compressor.name=sign"}, "try another algorithm.name, for naive"},
		{[]string{"algorithm.name=dpsgd", "algorithm.bits=32", "train.step_size=100"},
			"try a smaller train.step_size than 100"},
		{[]string{"algorithm.name=allreduce", "train.step_size=100"}, "try a smaller train.step_size than 100"},
	}
	for _, test := range tests {
		err := assemble(t, test.set...).Diverged(fmt.Errorf("round 3: %w", train.ErrDiverged))
		var diverged interface {
			error
			Hint() string
		}
		if !errors.As(err, &diverged) || !errors.Is(err, train.ErrDiverged) {
			t.Fatalf("%v: %v", test.set, err)
		}
		if !strings.Contains(diverged.Hint(), test.want) {
			t.Errorf("%v: hint %q, want %q", test.set, diverged.Hint(), test.want)
		}
	}
	other := errors.New("another error")
	if got := assemble(t).Diverged(other); got != other {
		t.Errorf("got %v", got)
	}
}

func TestTheGradientOfARunThatDivergesHasTheHint(t *testing.T) {
	r := assemble(t, "model={name: quadratic, dim: 4}", "train.step_size=100")
	w, err := New(r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{1e38, 0, 0, 0}
	var diverged interface {
		error
		Hint() string
	}
	if _, err := w.Gradient(make([]float32, 4), 0, x); !errors.As(err, &diverged) {
		t.Errorf("error %v has no hint", err)
	}
}

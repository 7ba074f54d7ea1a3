package build

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gossiptrainer/gossip/state"
)

// The corrections of gradient tracking sum to 0, so that the mean of the tracked directions is the mean of the
// directions. Rounding moves their mean by less than 10⁻⁶ G √k.
func TestCorrectionsOfTrackingSumToZero(t *testing.T) {
	const rounds, largest = 90, 4 // no direction here is larger
	for _, kind := range []string{"ring", "one-peer-exponential", "base2", "random-matching", "static-exponential"} {
		for _, algorithm := range []string{"{name: gt, ", "{name: kgt, local_steps: 3, update: {eta: 0.5}, "} {
			for _, bits := range []int{32, 8, 4} {
				set := []string{
					"topology.size=5", "topology.kind=" + kind, fmt.Sprintf("algorithm=%sbits: %d}", algorithm, bits),
					"model={name: quadratic, dim: 200, spread: 1}", "train.momentum=0.5", fmt.Sprint("train.rounds=", rounds),
					"train.schedule=cosine", "train.warmup=10",
				}
				t.Run(strings.Join(set[1:3], " "), func(t *testing.T) {
					_, saved := stops(t, assemble(t, set...), []int{rounds - 30, rounds})
					for k, workers := range saved {
						mean, most := meanOf(t, workers, "machine/algorithm/c")
						if bound := 1e-6 * largest * math.Sqrt(float64(k)); !(mean <= bound) {
							t.Errorf("round %d: the mean of c is %v, want at most %v", k, mean, bound)
						}
						if !(most > 0.01) {
							t.Errorf("round %d: the largest correction is %v: nothing is corrected", k, most)
						}
					}
				})
			}
		}
	}
}

// meanOf returns the largest coordinate of the mean of a vector over all workers, and the largest of any worker.
func meanOf(t *testing.T, workers []state.Snapshot, name string) (mean, most float64) {
	t.Helper()
	var sum []float64
	for i := range workers {
		for _, tensor := range workers[i].Tensors {
			if tensor.Name != name {
				continue
			}
			for c, v := range floatsOf(tensor.Data) {
				if c == len(sum) {
					sum = append(sum, 0)
				}
				sum[c] += v
				most = max(most, math.Abs(v))
			}
		}
	}
	if len(sum) == 0 {
		t.Fatalf("no worker has a vector %s", name)
	}
	for _, v := range sum {
		mean = max(mean, math.Abs(v)/float64(len(workers)))
	}
	return mean, most
}

// K-GT with one local step and η = 1 is gradient tracking, bit for bit.
func TestTrackingWithOneLocalStepIsTracking(t *testing.T) {
	for _, kind := range []string{"ring", "one-peer-exponential", "random-matching"} {
		for _, bits := range []int{32, 8, 4} {
			for _, optimizer := range []string{"train.momentum=0.9", "train.optimizer={name: adamw}"} {
				run := func(algorithm string) string {
					r := assemble(t, append([]string{
						"topology.size=5", "topology.kind=" + kind, fmt.Sprintf("algorithm={%s, bits: %d}", algorithm, bits), optimizer,
						"train.schedule=step", "train.drop={every: 4, factor: 0.5}",
					}, undrawn...)...)
					return digest(t, r, workers(t, r), 1)
				}
				if gt, kgt := run("name: gt"), run("name: kgt, local_steps: 1"); gt != kgt {
					t.Errorf("%s, %d bits, %s: digest %s of gt, %s of kgt", kind, bits, optimizer, gt, kgt)
				}
			}
		}
	}
}

// Command step measures training steps of one worker on one thread: gradient,
// weight decay, momentum and update, on one random batch. It is this project's
// side of studies/pytorch/pytorch.py, which runs it; it prints one JSON object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/stats"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/vec"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// A result holds the measurements of one run. Rates are samples per second.
type result struct {
	Tier string  `json:"tier"`
	Wall float64 `json:"wall"` // median over windows of the time that passed
	CPU  float64 `json:"cpu"`  // and of the thread's own time, 0 where the system does not count it
	Best float64 `json:"best"` // fastest step, by the time that passed
	Peak float64 `json:"peak"` // billions of operations per second that the tier can do, by the thread's own time
	Loss float32 `json:"loss"` // of the last step
}

func main() {
	name := flag.String("model", "resnet20", "resnet20, resnet110, vgg16, lenet or mlp (784-256-10)")
	batch := flag.Int("batch", 32, "samples of a step")
	length := flag.Duration("for", 3*time.Second, "how long to measure")
	flag.Parse()
	if err := run(*name, *batch, *length); err != nil {
		fmt.Fprintln(os.Stderr, "step:", err)
		os.Exit(1)
	}
}

func run(name string, batch int, length time.Duration) error {
	if err := kernel.Check(); err != nil {
		return err
	}
	spec, err := specOf(name, batch)
	if err != nil {
		return err
	}
	m, err := model.New(spec)
	if err != nil {
		return err
	}
	batched := randomBatch(spec)
	rule := train.Rule{Momentum: 0.9, WeightDecay: 5e-4}
	oracle, err := train.NewOracle(0, m, func(int) sample.Batch { return batched }, rule)
	if err != nil {
		return err
	}
	x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
	m.Init(x, 1)
	runtime.LockOSThread()
	found := result{Tier: kernel.Best().String()}
	k := 0
	step := func() error {
		loss, err := oracle.Gradient(g, k, x)
		vec.Axpy(x, -0.01, g)
		found.Loss = loss
		k++
		return err
	}
	if err := measure(&found, float64(batch), length, step); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// specOf returns the layers of a model by its name.
func specOf(name string, batch int) (model.Spec, error) {
	s := model.Spec{Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: batch, Norm: "batch"}
	switch name {
	case "resnet20":
		s.Name, s.Depth = "resnet", 20
	case "resnet110":
		s.Name, s.Depth = "resnet", 110
	case "vgg16":
		s.Name = "vgg16"
	case "lenet":
		s.Name, s.Shape, s.Norm = "lenet", sample.Shape{H: 28, W: 28, C: 1}, ""
	case "mlp":
		s.Name, s.Hidden, s.Shape = "mlp", []int{256}, sample.Shape{H: 28, W: 28, C: 1}
	default:
		return s, fmt.Errorf("unknown model %q", name)
	}
	return s, nil
}

// randomBatch makes features of [−1, 1) and labels.
func randomBatch(s model.Spec) sample.Batch {
	b := sample.Batch{X: make([]float32, s.Batch*s.Shape.Features()), Y: make([]int32, s.Batch)}
	key := rng.At(1, 0)
	for i := range b.X {
		b.X[i] = 2*key.Uniform(uint32(i)) - 1
	}
	for i := range b.Y {
		b.Y[i] = int32(i % s.Classes)
	}
	return b
}

// measure runs steps for about length, in ten windows, after two to warm up.
func measure(found *result, batch float64, length time.Duration, step func() error) error {
	for range 2 {
		if err := step(); err != nil {
			return err
		}
	}
	var wall, cpu []float64
	const windows = 10
	for range windows {
		start, used, steps := time.Now(), threadTime(), 0.0
		for time.Since(start) < length/windows {
			begin := time.Now()
			if err := step(); err != nil {
				return err
			}
			found.Best = max(found.Best, batch/time.Since(begin).Seconds())
			steps++
		}
		wall = append(wall, steps*batch/time.Since(start).Seconds())
		if used := threadTime() - used; used > 0 {
			cpu = append(cpu, steps*batch/used.Seconds())
		}
		used = threadTime()
		n := kernel.Best().MultiplyAdds(1 << 26)
		if used := threadTime() - used; used > 0 {
			found.Peak = max(found.Peak, 2*float64(n)/used.Seconds()/1e9)
		}
	}
	found.Wall, found.CPU = stats.Median(wall), stats.Median(cpu)
	return nil
}

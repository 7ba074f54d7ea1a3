package experiment

import "time"

// MeasureGradient returns the time of a gradient of worker 0 on this machine, the
// least of so many, at least 1. It takes a worker of its own, for gradients leave
// momentum behind.
func (r *Run) MeasureGradient(samples int) (time.Duration, error) {
	w, err := r.Worker(0)
	if err != nil {
		return 0, err
	}
	x := w.Machine.Params()
	g := make([]float32, len(x))
	least := time.Duration(1<<63 - 1)
	for k := range samples {
		began := time.Now()
		if _, err := w.Gradient(g, k, x); err != nil {
			return 0, err
		}
		least = min(least, time.Since(began))
	}
	return least, nil
}

package data

import "math"

// Sizes returns the number of samples of each worker.
func (p Partition) Sizes() []int {
	sizes := make([]int, len(p.Counts))
	for i, count := range p.Counts {
		sizes[i] = total(count)
	}
	return sizes
}

// Distances returns, of each worker, the total variation distance between its labels and those of all workers
// together. It is half the sum over the labels of the difference of their shares, 0 to 1.
func (p Partition) Distances() []float64 {
	all := make([]int, len(p.Classes))
	for _, count := range p.Counts {
		for label, n := range count {
			all[label] += n
		}
	}
	rows, distances := float64(total(all)), make([]float64, len(p.Counts))
	for i, size := range p.Sizes() {
		for label, n := range p.Counts[i] {
			distances[i] += math.Abs(float64(n)/float64(size)-float64(all[label])/rows) / 2
		}
	}
	return distances
}

// Weights returns the weights n·m_i/m of n workers with m_i of m samples. If each worker takes its weight times the
// mean over its samples, the mean over the workers is the mean over all samples.
func Weights(sizes []int) []float64 {
	rows, weights := float64(total(sizes)), make([]float64, len(sizes))
	for i, size := range sizes {
		weights[i] = float64(len(sizes)) * float64(size) / rows
	}
	return weights
}

func total(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

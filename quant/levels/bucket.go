package levels

import "math"

// A Bucket holds the statistics of r = |v|/norm over a bucket of coordinates.
type Bucket struct {
	Mu, Sigma float64 // mean and population standard deviation of r
	Norm      float64
}

// Observe returns the statistics of a bucket with the given norm, which is at least its largest
// magnitude. For a bucket of norm 0 all are 0.
func Observe(v []float32, norm float64) Bucket {
	if norm <= 0 {
		return Bucket{}
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(float64(x))
	}
	mean, squares := sum/float64(len(v)), 0.0
	for _, x := range v {
		off := math.Abs(float64(x)) - mean
		squares += float64(off * off)
	}
	return Bucket{Mu: mean / norm, Sigma: math.Sqrt(squares/float64(len(v))) / norm, Norm: norm}
}

// Weighted returns the mixture of the buckets for ALQ and AMQ. The error of a bucket counts with
// weight norm², formula (10) of the paper. Without any bucket above 0, it is an atom at 0.
func Weighted(buckets []Bucket) *Mixture {
	largest := 0.0
	for _, b := range buckets {
		largest = max(largest, b.Norm)
	}
	components := []Component{}
	for _, b := range buckets {
		if b.Norm > 0 {
			share := b.Norm / largest // no square overflows
			components = append(components, Component{Mu: b.Mu, Sigma: b.Sigma, Weight: share * share})
		}
	}
	return mixture(components)
}

// Averaged returns one normal with the averages of μ and σ, for ALQ-N and
// AMQ-N: all buckets count the same.
func Averaged(buckets []Bucket) *Mixture {
	average, n := Component{Weight: 1}, 0.0
	for _, b := range buckets {
		if b.Norm > 0 {
			average.Mu += b.Mu
			average.Sigma += b.Sigma
			n++
		}
	}
	if n == 0 {
		return mixture(nil)
	}
	average.Mu /= n
	average.Sigma /= n
	return mixture([]Component{average})
}

// mixture returns the mixture of observed components.
func mixture(components []Component) *Mixture {
	if len(components) == 0 {
		components = []Component{{Weight: 1}}
	}
	m, err := NewMixture(components...)
	if err != nil {
		panic("internal error: " + err.Error()) // cannot happen: statistics of finite numbers
	}
	return m
}

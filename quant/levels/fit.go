package levels

// Settings of the fits. The paper has fewer than 10 sweeps for coordinate descent, and names no rate.
const (
	alqSweeps     = 10
	alqgSweeps    = 30
	alqgRate      = 0.1
	amqIterations = 50
	amqRate       = 0.7
)

// ALQ returns the best table of h ≥ 2 levels that coordinate descent finds for
// m from uniform, exponential and quantile levels.
func ALQ(form Form, h int, m *Mixture) []float64 {
	return best(form, h, m, func(table []float64) { CoordinateDescent(form, table, m, alqSweeps) })
}

// ALQG is the same by gradient descent.
func ALQG(form Form, h int, m *Mixture) []float64 {
	return best(form, h, m, func(table []float64) { GradientDescent(form, table, m, alqgSweeps, alqgRate) })
}

// best returns the table of least variance among the improved starts.
func best(form Form, h int, m *Mixture, improve func(table []float64)) []float64 {
	var (
		found []float64
		least float64
	)
	for _, table := range [][]float64{Uniform(form, h), Exponential(form, h, 0.5), Quantiles(form, h, m)} {
		if !ascending(form, table) {
			continue // quantiles at an atom coincide
		}
		improve(table)
		if cost := Variance(form, table, m); found == nil || cost < least {
			found, least = table, cost
		}
	}
	return found
}

// AMQ returns the symmetric exponential table of h ≥ 2 levels with the best p that gradient descent
// finds for m. It tries several starts in (0, 1), one of them previous. It does not take a step that
// makes p worse, and halves all further steps. With the paper's rate, p would jump to and fro when h
// is 2.
func AMQ(h int, m *Mixture, previous float64) []float64 {
	var (
		found []float64
		least float64
	)
	for _, p := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, previous} {
		table := Exponential(Symmetric, h, p)
		cost, rate := Variance(Symmetric, table, m), amqRate
		for range amqIterations {
			next := ExponentDescent(h-1, p, m, 1, rate)
			moved := Exponential(Symmetric, h, next)
			if c := Variance(Symmetric, moved, m); c < cost {
				p, table, cost = next, moved, c
			} else {
				rate /= 2
			}
		}
		if found == nil || cost < least {
			found, least = table, cost
		}
	}
	return found
}

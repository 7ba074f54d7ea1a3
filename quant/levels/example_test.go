package levels_test

import (
	"fmt"

	"gossiptrainer/quant/levels"
)

// Levels that suit small values better than evenly spaced ones.
func ExampleALQ() {
	m, err := levels.NewMixture(levels.Component{Mu: 0.1, Sigma: 0.1, Weight: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	even, fitted := levels.Uniform(levels.WithZero, 4), levels.ALQ(levels.WithZero, 4, m)
	fmt.Printf("%.2f: variance %.5f\n", even, levels.Variance(levels.WithZero, even, m))
	fmt.Printf("%.2f: variance %.5f\n", fitted, levels.Variance(levels.WithZero, fitted, m))
	// Output:
	// [0.00 0.33 0.67 1.00]: variance 0.02031
	// [0.00 0.13 0.29 1.00]: variance 0.00419
}

package controller_test

import (
	"fmt"

	"gossiptrainer/quant/controller"
)

// Gradients half as large get one bit less.
func ExampleOlandRaj() {
	c, err := controller.NewOlandRaj(2, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rms := range []float64{1, 0.5, 0.1, 0.001} {
		fmt.Println(rms, c.Choose(nil, rms, 0))
	}
	// Output:
	// 1 8
	// 0.5 7
	// 0.1 5
	// 0.001 2
}

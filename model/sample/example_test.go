package sample_test

import (
	"fmt"

	"gossiptrainer/model/sample"
)

// Two grey images of 2×2 pixels with their labels.
func Example() {
	shape := sample.Shape{H: 2, W: 2, C: 1}
	batch := sample.Batch{
		X: []float32{
			0, 1, 1, 0, // the first image
			1, 1, 0, 0, // the second
		},
		Y: []int32{3, 7},
	}
	for i := range batch.Len() {
		f := shape.Features()
		fmt.Println(batch.X[i*f:(i+1)*f], "is of class", batch.Y[i])
	}
	// Output:
	// [0 1 1 0] is of class 3
	// [1 1 0 0] is of class 7
}

package model_test

import (
	"fmt"

	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

func ExampleNew() {
	m, err := model.New(model.Spec{Name: "logistic", Shape: sample.Shape{H: 1, W: 1, C: 2}, Classes: 2, Batch: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := sample.Batch{X: []float32{0, 1, 1, 2, 2, 1, 1, 0}, Y: []int32{0, 0, 1, 1}}
	x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
	m.Init(x, 1)
	for range 200 {
		m.Gradient(g, x, batch)
		for i := range x {
			x[i] -= g[i]
		}
	}
	fmt.Printf("%d parameters, accuracy %.0f %%\n", m.Dim(), 100*m.Evaluate(x, batch).Accuracy)
	// Output:
	// 6 parameters, accuracy 100 %
}

// The size of an objective is known before it is built.
func ExampleMeasure() {
	size, err := model.Measure(model.Spec{
		Name: "mlp", Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: 10, Batch: 32, Hidden: []int{128},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(size.Dim, "parameters")
	for _, p := range size.Layout {
		fmt.Println(p.Name, p.Shape)
	}
	// Output:
	// 101770 parameters
	// dense1.weight [784 128]
	// dense1.bias [128]
	// dense2.weight [128 10]
	// dense2.bias [10]
}

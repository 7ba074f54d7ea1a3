package main

import (
	"fmt"
	"math"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/vec"
	"gossiptrainer/quant/controller"
	"gossiptrainer/studies/markdown"
)

// Each of tries measures the mean time of calls. The least counts, because the load of the machine only adds time.
const tries, calls = 500, 10

// A cost is the time that a controller takes.
type cost struct {
	name  string
	call  time.Duration
	every int // rounds per call
}

// controllerCosts measures the controllers on the model and the graph that all rows share.
func controllerCosts(p plan) ([]cost, error) {
	run, err := rows()[0].assemble(p)
	if err != nil {
		return nil, err
	}
	dim, diameter := run.Dim(), run.Graph().Reach()
	adaptive, err := controller.NewOlandRaj(2, 8)
	if err != nil {
		return nil, err
	}
	learning, err := controller.NewMQGrad(2, 8, 1)
	if err != nil {
		return nil, err
	}
	g := make([]float32, dim)
	losses := []float64{2, 1.99, 1.98, 1.97, 1.96}
	rms := func() float64 { return math.Sqrt(vec.Dot(g, g) / float64(dim)) }
	measure := func(name string, c gossip.Chooser, rms func() float64) cost {
		least := time.Duration(math.MaxInt64)
		for range tries {
			began := time.Now()
			for range calls {
				c.Choose(losses, rms(), time.Second)
			}
			least = min(least, time.Since(began)/calls)
		}
		return cost{name, least, diameter + 1 + c.Window()}
	}
	return []cost{
		measure("Øland-Raj", adaptive, rms),
		measure("MQGrad", learning, func() float64 { return 0 }),
	}, nil
}

// costTable compares the costs with the time of a gradient and of a round.
func costTable(costs []cost, compute, round time.Duration) string {
	table := [][]string{{"controller", "a call, µs", "rounds per call", "share of a gradient, %", "share of a round, %"}}
	for _, c := range costs {
		each := 100 * float64(c.call) / float64(c.every)
		table = append(table, []string{
			c.name, fmt.Sprintf("%.2f", float64(c.call)/1e3), fmt.Sprint(c.every),
			fmt.Sprintf("%.4f", each/float64(compute)), fmt.Sprintf("%.4f", each/float64(round)),
		})
	}
	return markdown.Table(table)
}

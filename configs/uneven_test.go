package configs

import (
	"strings"
	"testing"
)

func TestUnevenDataThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"shares that are missing", "data: {sizes: {law: shares}}", 1, 21,
			"must have one number for each of the 8 workers, got 0 numbers"},
		{"too few shares", "topology: {size: 3}\ndata: {sizes: {law: shares, shares: [1, 2]}}", 2, 37,
			"each of the 3 workers, got 2 numbers"},
		{"a share of 0", "topology: {size: 2}\ndata: {sizes: {law: shares, shares: [1, 0]}}", 2, 41,
			"data.sizes.shares.1: must be above 0"},
		{"a part of a row", "topology: {size: 2}\n" +
			"data: {name: file, path: x, partition: local, weights: samples, sizes: {law: shares, shares: [1, 1.5]}}", 2, 98,
			"the number of samples of worker 1: must be a whole number, got 1.5"},
		{"an unknown law", "data: {sizes: {law: zipf}}", 1, 21, "must be one of natural, equal, shares, power, dirichlet"},
		{"an exponent of 0", "data: {sizes: {law: power, exponent: 0}}", 1, 38, "must be above 0"},
		{"sizes of files that differ", "data: {name: file, path: x, partition: local, sizes: {law: power}}", 1, 60,
			"the files say how many samples a worker has: must be natural"},
		{"noise of some workers", "data: {label_noise: [0.1, 0.2]}", 1, 21, "or one for each of the 8, got 2 numbers"},
		{"noise above all labels", "data: {label_noise: [1.5]}", 1, 22, "must be a share of the labels, 0 to 1, got 1.5"},
		{"negative noise", "topology: {size: 2}\ndata: {label_noise: [0, -1]}", 2, 25, "data.label_noise.1: must be a share"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text)
			all := problems(t, err)
			p := all[0]
			if !strings.Contains(p.Key+": "+p.Message+p.Hint, tt.want) || p.Line != tt.line || p.Column != tt.column {
				t.Errorf("%s:%d:%d: %s, want %d:%d: %q", p.Key, p.Line, p.Column, p.Message, tt.line, tt.column, tt.want)
			}
		})
	}
}

func TestNoiseOfAWorker(t *testing.T) {
	for text, want := range map[string]float64{
		"data: {}": 0, "data: {label_noise: [0.25]}": 0.25,
		"topology: {size: 3}\ndata: {label_noise: [0, 0.5, 1]}": 0.5,
	} {
		if got := mustLoad(t, text).Config.Data.NoiseOf(1); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

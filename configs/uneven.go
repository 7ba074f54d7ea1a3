package configs

import (
	"fmt"
	"math"
	"strconv"

	"gossiptrainer/internal/human"
)

// Weighted reports whether workers count by their samples.
func (d Data) Weighted() bool { return d.Weights == "samples" }

// NoiseOf returns the share of a worker's labels that are replaced on purpose.
func (d Data) NoiseOf(rank int) float64 {
	switch n := len(d.LabelNoise); {
	case n == 0:
		return 0
	case n == 1:
		return d.LabelNoise[0]
	default:
		return d.LabelNoise[rank]
	}
}

var (
	scaledSteps = need{
		on:    []string{"train.optimizer.name"},
		holds: func(c *Config, _ string) bool { return c.Train.Optimizer.Name == "sgd" },
		why: func(c *Config) string {
			return fmt.Sprintf("the steps of %s do not depend on the length of a gradient", c.Train.Optimizer.Name)
		},
		hint: func(*Config) string { return "leave it out, or set train.optimizer.name to sgd" },
	}
	equalSteps = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return !c.row().Asynchronous() },
		why: func(c *Config) string {
			return fmt.Sprintf("an %s worker counts in proportion to its steps; weights do not apply", c.Algorithm.Name)
		},
		hint: func(*Config) string { return "leave it out, or set algorithm.name to one with rounds" },
	}
)

// unevenRules are about workers whose samples differ in number, in weight and in the truth of their labels.
var unevenRules = []rule{
	{[]string{"data.sizes.shares", "data.sizes.law", "topology"}, checkShares},
	{[]string{"data.sizes.law", "data.partition"}, func(c *Config, wrong complain) {
		if law := c.Data.Sizes.Law; c.Data.Partition == "local" && law != "natural" && law != "shares" {
			wrong("data.sizes.law", "with the partition local the files say how many samples a worker has: must be natural, "+
				"or shares, with the samples of each worker in data.sizes.shares, got %s", law)
		}
	}},
	{[]string{"data.label_noise", "topology"}, func(c *Config, wrong complain) {
		n := len(c.Data.LabelNoise)
		if n > 1 && n != c.Topology.Size {
			wrong("data.label_noise", "must have one number for all workers or one for each of the %d, got %s",
				c.Topology.Size, human.Count(n, "number"))
		}
		for i, share := range c.Data.LabelNoise {
			if !(share >= 0 && share <= 1) {
				wrong("data.label_noise."+strconv.Itoa(i), "must be a share of the labels, 0 to 1, got %v", share)
			}
		}
	}},
}

// checkShares refuses lists that do not give every worker its share.
func checkShares(c *Config, wrong complain) {
	sizes := c.Data.Sizes
	if sizes.Law != "shares" {
		return
	}
	if n := len(sizes.Shares); n != c.Topology.Size {
		wrong("data.sizes.shares", "must have one number for each of the %s, got %s",
			human.Count(c.Topology.Size, "worker"), human.Count(n, "number"))
	}
	for i, share := range sizes.Shares {
		at := "data.sizes.shares." + strconv.Itoa(i)
		switch {
		case !(share > 0) || share > largestShare:
			wrong(at, "must be above 0 and at most %d, got %v", largestShare, share)
		case c.Data.Partition == "local" && share != math.Trunc(share):
			wrong(at, "with the partition local this is the number of samples of worker %d: must be a whole number, got %v",
				i, share)
		}
	}
}

// largestShare bounds shares, which may be numbers of samples.
const largestShare = 1 << 32

package configs

import (
	"slices"
	"strings"
)

// RankPattern stands for the rank of a worker in data.dir.
const RankPattern = "{rank}"

// dataRules are about the user's own files.
var dataRules = []rule{
	{[]string{"data.partition", "data.name"}, func(c *Config, wrong complain) {
		if c.Data.Partition == "local" && c.Data.Name != "libsvm" {
			wrong("data.partition", "local is for files of your own: must be iid, labels or dirichlet, "+
				"or the data set libsvm, got %s", c.Data.Name)
		}
	}},
	{[]string{"data.dir", "data.partition"}, func(c *Config, wrong complain) {
		if c.Data.Partition != "local" && strings.Contains(c.Data.Dir, RankPattern) {
			wrong("data.dir", "%s belongs to the partition local, but the partition is %s",
				RankPattern, c.Data.Partition)
		}
	}},
	{[]string{"data.labels", "data.name"}, func(c *Config, wrong complain) {
		labels := c.Data.Labels
		if !slices.IsSorted(labels) || len(slices.Compact(slices.Clone(labels))) < len(labels) {
			wrong("data.labels", "must be in ascending order, each once, got %v", labels)
		}
	}},
}

package configs

import (
	"slices"
	"strings"
)

// comparisonTable describes the keys of comparison files, for the reference and for the reader.
var comparisonTable = []Key{
	{Name: "name", Type: "string", Allowed: "letters, digits, dots and dashes",
		Description: "name of the comparison, and of the folder of its results"},
	{Name: "base", Type: "string", Description: "preset or path of the run file from which every cell starts"},
	{Name: "mode", Type: "string", Default: "sim", Allowed: "sim, lab",
		Description: "sim = in virtual time; lab = with real peers on this machine"},
	{Name: "compute", Type: "string", Allowed: "a duration like 20ms, measured, costs",
		Description: "sim: time of a gradient; left out = measured once on this machine. Value measured = " +
			"coding and links are measured and take virtual time, too. Costs = a former measurement, as it was printed"},
	{Name: "cores", Type: "integer", Allowed: "at least 1",
		Description: "sim: processors that all workers share; left out = gradients and coding of each worker have their own"},
	{Name: "networks", Type: "list of sections", Allowed: "at most 64",
		Description: "limits of the peers' links; left out = one network, base, with the limits of the base"},
	{Name: "networks.*.name", Type: "string", Description: "name of the network in tables and figures"},
	{Name: "networks.*.rate", Type: "string", Description: "as limit.rate of a run file"},
	{Name: "networks.*.burst", Type: "integer", Description: "as limit.burst of a run file"},
	{Name: "networks.*.latency", Type: "string", Description: "as limit.latency of a run file"},
	{Name: "networks.*.jitter", Type: "string", Description: "as limit.jitter of a run file"},
	{Name: "networks.*.loss", Type: "number", Description: "as limit.loss of a run file"},
	{Name: "networks.*.rounds", Type: "integer",
		Description: "rounds of the cells on this network, instead of budget.rounds"},
	{Name: "networks.*.set", Type: "section",
		Description: "further keys of the run file for the cells on this network, " +
			"like {data: {partition: dirichlet, alpha: 0.1}}"},
	{Name: "algorithms", Type: "list of sections", Allowed: "at least 1, at most 64",
		Description: "the algorithms to compare, one section each"},
	{Name: "algorithms.*.label", Type: "string", Description: "name of the algorithm in tables and figures"},
	{Name: "algorithms.*.seeds", Type: "integer", Allowed: "at least 1, at most the number of seeds",
		Description: "number of seeds for this algorithm, from the first on; left out = all"},
	{Name: "algorithms.*.compute", Type: "string", Allowed: "as compute",
		Description: "sim: the costs of this algorithm, instead of compute"},
	{Name: "algorithms.*.KEY", Type: "as in a run file",
		Description: "any key of the section algorithm of a run file, like name, bits or compressor. " +
			"Algorithms that compress take bits and levels from their compressor. " +
			"tune(0.1, 0.3) = the value with the least loss in a short run"},
	{Name: "algorithms.*.set", Type: "section",
		Description: "further keys of the run file for this algorithm, like {topology: {slack: 0.1}}"},
	{Name: "seeds", Type: "list of integers", Default: "[1,2,3]", Allowed: "at most 64",
		Description: "every network and algorithm is run once with each seed"},
	{Name: "budget.rounds", Type: "integer", Allowed: "at least 1",
		Description: "rounds of every cell; left out = as the base says"},
	{Name: "budget.time", Type: "string", Allowed: "a duration like 10m",
		Description: "a cell ends after this time: virtual in sim, on the clock in lab"},
	{Name: "budget.target", Type: "boolean", Default: "false",
		Description: "a cell ends when it has reached the target of the report"},
	{Name: "tuning.rounds", Type: "integer", Allowed: "at least 1",
		Description: "rounds of the short runs for tune(...); left out = a quarter of the run's"},
	{Name: "tuning.seed", Type: "integer", Default: "1000", Allowed: "at least 1",
		Description: "seed of these runs, which no cell may have"},
	{Name: "report.targets.loss", Type: numbers, Allowed: "above 0",
		Description: "training loss to which the report takes the time; several, like [1.5, 1, 0.5], " +
			"show whether a conclusion depends on one"},
	{Name: "report.targets.accuracy", Type: numbers, Allowed: "above 0, at most 1",
		Description: "accuracy on the test set to which the report takes the time; one or several"},
}

// numbers is the type of a key that takes one number or several.
const numbers = "number or list of numbers"

// isLabel reports whether a path is that of a text in a list of a comparison file.
func isLabel(path string) bool {
	list, rest, _ := strings.Cut(path, ".")
	_, name, _ := strings.Cut(rest, ".")
	return slices.ContainsFunc(comparisonTable, func(k Key) bool {
		return k.Name == list+".*."+name && k.Type == "string"
	})
}

// ComparisonReference returns all keys of comparison files.
func ComparisonReference() []Key { return comparisonTable }

// comparisonKeysOf returns the names of the keys in a section of the table.
func comparisonKeysOf(section string) []string {
	var names []string
	for _, key := range comparisonTable {
		rest := key.Name
		if section != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(key.Name, section+"."); !ok {
				continue
			}
		}
		name, _, _ := strings.Cut(rest, ".")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

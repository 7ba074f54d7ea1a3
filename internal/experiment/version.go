package experiment

// A change takes the next version of results if runs of the same settings may then have other parameters, virtual times
// or records. It raises sharedResults where it concerns all algorithms, and ownResults where it concerns some.
const sharedResults = 2

var ownResults = map[string]int{
	"adpsgd": 3, // a pair asks before it exchanges models
}

// ResultsVersion returns the version of the results of an algorithm. Checkpoints of simulations, cells of comparisons
// and claims note it. A test ties it to the list of test/digests.
func ResultsVersion(algorithm string) int { return max(sharedResults, ownResults[algorithm]) }

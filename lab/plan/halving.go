package plan

// A halvingStage is a step of successive halving (Jamieson and Talwalkar, AISTATS 2016): how many candidates are
// simulated, and for how many rounds from the beginning.
type halvingStage struct{ keep, rounds int }

const (
	// eta is the factor by which candidates become fewer and rounds more from rung to rung.
	eta = 3
	// finalists is how many candidates the last rung has at least.
	finalists = 4
)

// rungs divides a number of simulated rounds, over all candidates, among rungs. Each candidate gets at least first
// rounds, and none more than a run has. If all can have all rounds, there is one rung. If not even the first rung is
// affordable, fewer candidates begin.
func rungs(candidates, first, all, affordable int) []halvingStage {
	if candidates == 0 {
		return nil
	}
	first = min(first, all)
	if affordable < candidates*first {
		first = min(first, least) // more of them show something
	}
	if candidates*all <= affordable {
		return []halvingStage{{candidates, all}}
	}
	candidates = max(1, min(candidates, affordable/first))
	low, high := first, all
	for low < high { // the largest beginning that is affordable
		if mid := (low + high + 1) / 2; spent(ladder(candidates, mid, all)) <= affordable {
			low = mid
		} else {
			high = mid - 1
		}
	}
	steps := ladder(candidates, low, all)
	for len(steps) > 1 && spent(steps) > affordable {
		steps = steps[:len(steps)-1]
	}
	return steps
}

// ladder returns the rungs that begin with some rounds.
func ladder(candidates, rounds, all int) (steps []halvingStage) {
	for {
		steps = append(steps, halvingStage{candidates, rounds})
		if rounds >= all || candidates <= finalists {
			return steps
		}
		candidates = max(finalists, (candidates+eta-1)/eta)
		rounds = min(all, eta*rounds)
	}
}

func spent(steps []halvingStage) int {
	sum := 0
	for _, s := range steps {
		sum += s.keep * s.rounds
	}
	return sum
}

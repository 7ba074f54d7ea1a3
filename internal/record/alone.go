package record

// Alone is a worker that ended a run without a neighbour, under the policy reweight: it did its last rounds by itself.
type Alone struct {
	Rank  int `json:"rank"`
	Since int `json:"since_round"` // first round without a neighbour
}

// SumAlone returns the workers with a result that did their last rounds without a neighbour, in the order of finals. It
// knows those whose edges are among the events. An exchange follows after this number of rounds.
func SumAlone(events []Event, finals []Final, rounds int) (all []Alone) {
	for _, f := range finals {
		edges, since, had := make(map[int]bool), 0, false
		for _, e := range events {
			switch {
			case e.Edge == nil || e.Edge.Rank != f.Rank:
			case e.Edge.Peer == f.Rank: // another process, which says its own edges
				clear(edges)
			case e.Edge.Weight != 0:
				edges[e.Edge.Peer], had = true, true
			default:
				delete(edges, e.Edge.Peer)
				since = max(since, rounds*e.Edge.Exchange)
			}
		}
		if had && len(edges) == 0 && since < f.Rounds {
			all = append(all, Alone{f.Rank, since})
		}
	}
	return all
}

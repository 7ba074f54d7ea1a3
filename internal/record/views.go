package record

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// A View is the mixing matrix of a run from one change of an edge to the next.
type View struct {
	From int         // the first exchange
	W    [][]float64 // n×n; the row of a lost worker is that of the identity
	// Lopsided lists the edges (i, j) that are on at i and off at j.
	Lopsided [][2]int
}

// Views returns the mixing matrices of a run of n workers under the policy reweight, in order, from
// the recorded edges. A lost worker could not record that its edges ended, nor could a worker before
// it came back. Then the other ends of its edges decide.
func Views(events []Event, n int, lost func(rank int) bool) ([]View, error) {
	edges := make(map[[2]int][]Edge) // as each end recorded an edge
	begins := make([]int, n)         // exchange in which the last process of each worker began
	starts := []int{0}
	for _, e := range events {
		if e.Edge == nil {
			continue
		}
		if min(e.Edge.Rank, e.Edge.Peer) < 0 || max(e.Edge.Rank, e.Edge.Peer) >= n || e.Edge.Exchange < 0 {
			return nil, fmt.Errorf("record: an edge from worker %d to worker %d at exchange %d: the run has workers 0 to %d",
				e.Edge.Rank, e.Edge.Peer, e.Edge.Exchange, n-1)
		}
		if e.Edge.Rank == e.Edge.Peer {
			begins[e.Edge.Rank] = e.Edge.Exchange
			maps.DeleteFunc(edges, func(key [2]int, _ []Edge) bool { return key[0] == e.Edge.Rank })
			continue
		}
		key := [2]int{e.Edge.Rank, e.Edge.Peer}
		edges[key] = append(edges[key], *e.Edge)
		starts = append(starts, e.Edge.Exchange)
	}
	slices.Sort(starts)
	var views []View
	for _, from := range slices.Compact(starts) {
		mute := func(rank int) bool { return lost(rank) || from < begins[rank] }
		views = append(views, viewAt(edges, from, n, mute))
	}
	return views, nil
}

// Losses sums up how the graph of a run changed: under the policy reweight, or where members come and go. Then peers
// and results are those of the members at the end, by their rank in the last view.
type Losses struct {
	Lost  []int `json:"lost"`  // ranks without a result
	Views int   `json:"views"` // mixing matrices of the run, one after the other, ≥ 1
	// Lopsided bounds the exchanges, counted per edge, in which only one end mixed.
	Lopsided int `json:"lopsided"`
	// Log has the views of members that come and go.
	Log []Membership `json:"log,omitempty"`
}

// A Membership is a record of the log of views, for people.
type Membership struct {
	View    int      `json:"view"`
	First   int      `json:"first"`           // exchange
	Members []int    `json:"members"`         // ids, in ascending order
	Names   []string `json:"names,omitempty"` // of the machines of the members; none where no member has one
	Dead    []int    `json:"dead,omitempty"`  // ids of those that were silent since the view before
	Why     string   `json:"why,omitempty"`
}

// SumLosses sums up the recorded edges of a run of n workers. Workers without an entry in finals are
// lost. It fails if a mixing matrix is not doubly stochastic.
func SumLosses(events []Event, n int, finals []Final) (*Losses, error) {
	lost := func(rank int) bool {
		return !slices.ContainsFunc(finals, func(f Final) bool { return f.Rank == rank })
	}
	views, err := Views(events, n, lost)
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		if err := v.Check(); err != nil {
			return nil, err
		}
	}
	sum := &Losses{Lost: []int{}, Views: len(views), Lopsided: Lopsided(events, views, lost)}
	for rank := range n {
		if lost(rank) {
			sum.Lost = append(sum.Lost, rank)
		}
	}
	return sum, nil
}

// viewAt returns the mixing matrix of one exchange.
func viewAt(edges map[[2]int][]Edge, exchange, n int, lost func(rank int) bool) View {
	v := View{From: exchange, W: make([][]float64, n)}
	for i := range v.W {
		v.W[i] = make([]float64, n)
		v.W[i][i] = 1
	}
	for i := range n {
		for j := range n {
			w, back := weightAt(edges[[2]int{i, j}], exchange), weightAt(edges[[2]int{j, i}], exchange)
			switch {
			case lost(i) && lost(j):
				w = min(w, back)
			case lost(i):
				w = back
			case !lost(j) && w > 0 && back == 0:
				v.Lopsided = append(v.Lopsided, [2]int{i, j})
			}
			if i != j {
				v.W[i][j] = w
				v.W[i][i] -= w
			}
		}
	}
	return v
}

// weightAt returns the weight of an edge in an exchange, from the records of one of its ends.
func weightAt(said []Edge, exchange int) float64 {
	weight := 0.0
	for _, e := range said {
		if e.Exchange <= exchange {
			weight = e.Weight
		}
	}
	return weight
}

// Check returns an error if W is not symmetric and doubly stochastic. Lopsided edges need not be symmetric.
func (v View) Check() error {
	const rounding = 1e-12
	for i, row := range v.W {
		sum := 0.0
		for j, w := range row {
			sum += w
			known := slices.Contains(v.Lopsided, [2]int{i, j}) || slices.Contains(v.Lopsided, [2]int{j, i})
			if w < -rounding || w != v.W[j][i] && !known {
				return fmt.Errorf("record: from exchange %d on: W[%d][%d] is %v but W[%d][%d] is %v",
					v.From, i, j, w, j, i, v.W[j][i])
			}
		}
		if math.Abs(sum-1) > rounding {
			return fmt.Errorf("record: from exchange %d on: row %d of W sums to %v, not 1", v.From, i, sum)
		}
	}
	return nil
}

// Lopsided returns a bound on the exchanges, counted per edge, in which only one end of an edge mixed. They are the
// exchanges with a lopsided edge in a view, and one for each edge to a lost worker. Its record may end one exchange too
// early, even if it comes back.
func Lopsided(events []Event, views []View, lost func(rank int) bool) int {
	count := 0
	for i, v := range views {
		if i+1 < len(views) {
			count += len(v.Lopsided) * (views[i+1].From - v.From)
		}
	}
	begins := make(map[int]int)
	for _, e := range events {
		if e.Edge != nil && e.Edge.Rank == e.Edge.Peer {
			begins[e.Edge.Rank] = e.Edge.Exchange
		}
	}
	for _, e := range events {
		if e.Edge == nil || e.Edge.Weight > 0 || e.Edge.Rank == e.Edge.Peer || lost(e.Edge.Rank) {
			continue
		}
		if lost(e.Edge.Peer) || e.Edge.Exchange < begins[e.Edge.Peer] {
			count++
		}
	}
	return count
}

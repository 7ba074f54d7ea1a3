package record

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// A View is the mixing matrix of a run from one exchange to the next in which an
// edge goes on or off.
type View struct {
	From int         // the first exchange
	W    [][]float64 // n×n; of a worker that is lost, the row of one who mixes with nobody
	// Lopsided lists the edges that only the first of the two has on.
	Lopsided [][2]int
}

// Views returns the mixing matrices of a run of n workers under the policy
// reweight, in order, from the edges on record. For a worker that is lost, or was
// before it came back, and could not put on record what it no longer did, the other
// ends of its edges speak.
func Views(events []Event, n int, lost func(rank int) bool) ([]View, error) {
	edges := make(map[[2]int][]Edge) // what each end said of an edge
	begins := make([]int, n)         // where the last process of each worker did
	starts := []int{0}
	for _, e := range events {
		if e.Edge == nil {
			continue
		}
		if min(e.Edge.Rank, e.Edge.Peer) < 0 || max(e.Edge.Rank, e.Edge.Peer) >= n || e.Edge.Exchange < 0 {
			return nil, fmt.Errorf("report: edge %+v: there are workers 0 to %d", *e.Edge, n-1)
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

// Losses sums up what became of the graph of a run under the policy reweight.
type Losses struct {
	Lost  []int `json:"lost"`  // ranks without a result
	Views int   `json:"views"` // mixing matrices that the run had one after the other, ≥ 1
	// Lopsided bounds the exchanges, counted per edge, in which only one end mixed.
	Lopsided int `json:"lopsided"`
}

// SumLosses sums up the edges on record in a run of n workers, of which those that
// finals name came to the end. It fails where a mixing matrix is not doubly
// stochastic.
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

// weightAt returns what one end gives an edge in an exchange: the last that it said
// of it.
func weightAt(said []Edge, exchange int) float64 {
	weight := 0.0
	for _, e := range said {
		if e.Exchange <= exchange {
			weight = e.Weight
		}
	}
	return weight
}

// Check says why W is not symmetric and doubly stochastic, but for the edges that
// are Lopsided.
func (v View) Check() error {
	const rounding = 1e-12
	for i, row := range v.W {
		sum := 0.0
		for j, w := range row {
			sum += w
			known := slices.Contains(v.Lopsided, [2]int{i, j}) || slices.Contains(v.Lopsided, [2]int{j, i})
			if w < -rounding || w != v.W[j][i] && !known {
				return fmt.Errorf("report: view from exchange %d: W[%d][%d] = %v, W[%d][%d] = %v", v.From, i, j, w, j, i, v.W[j][i])
			}
		}
		if math.Abs(sum-1) > rounding {
			return fmt.Errorf("report: view from exchange %d: row %d of W sums to %v", v.From, i, sum)
		}
	}
	return nil
}

// Lopsided returns in how many exchanges, counted per edge, only one end of an edge
// can have mixed: those of the views, and for each edge to a worker that was lost,
// which does not tell, even if it came back, one.
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

package view

import (
	"math"

	"gossiptrainer/topology"
)

// Moved returns how far the sum of the messages over the survivors of exchange x moves by mixing, where m gives the
// message of each member. Without deaths it does not move. Survivors are the members that are not off, without those
// whose last message is of x. The sum has three parts:
//
//	x is the last exchange of r        Σ_j W_rj (m_r − m_j)        the row of r itself is not in the sum
//	r is off in x                      Σ_j (W_jr − W_rj) m_j       0 if W is symmetric
//	the message from j to i is lost    W_ij (m_i − m_j)
func Moved(l *Log, x int, m func(ID) []float32) []float64 {
	var moved []float64
	add := func(weight float64, a []float32) {
		if moved == nil {
			moved = make([]float64, len(a))
		}
		for i, v := range a {
			moved[i] += weight * float64(v)
		}
	}
	for _, id := range l.At(l.Force(x)).IDs() {
		if l.Off(id, x) {
			l.left(id, x, func(j ID, weight float64) { add(weight, m(j)) })
			continue
		}
		add(0, m(id))
		for _, e := range l.whole(id, x).In {
			if !l.Off(e.Peer, x) && l.Lost(Loss{id, e.Peer, x}) {
				add(e.Weight, m(id))
				add(-e.Weight, m(e.Peer))
			}
		}
		if last, dead := l.Dead(id); dead && last == x {
			for _, e := range l.Row(id, x).In {
				add(e.Weight, m(id))
				add(-e.Weight, m(e.Peer))
			}
		}
	}
	return moved
}

// left calls add with W_jr − W_rj for all j that are not off, where r is off in x.
func (l *Log) left(r ID, x int, add func(j ID, weight float64)) {
	for _, j := range l.At(l.Force(x)).IDs() {
		if j != r && !l.Off(j, x) {
			add(j, weightOf(l.whole(j, x), r)-weightOf(l.whole(r, x), j))
		}
	}
}

// weightOf returns the weight with which a row takes from a member.
func weightOf(row topology.Row, from ID) float64 {
	for _, e := range row.In {
		if e.Peer == from {
			return e.Weight
		}
	}
	return 0
}

// Until returns the log as it was when view v was the last.
func (l *Log) Until(v int) *Log {
	early := &Log{base: l.base, lives: map[ID]life{}}
	for w := range v + 1 {
		if early.Add(l.records[w]) != nil {
			break // it cannot fail: the records fit each other
		}
	}
	return early
}

// Contract returns the spread of a view v that is not the last. The largest distance of two models after its exchanges
// is at most the spread times that before. Contract also counts the exchanges in which a message is left out.
//
// The spread is max |P_i − P_j|₁/2 over rows of P, the product of the W of all exchanges. It never grows. So the
// product ends where the spread is below 10⁻⁹.
func Contract(l *Log, v int) (spread float64, cut int) {
	ids := l.At(v).IDs()
	rank := map[ID]int{}
	p := make([][]float64, len(ids))
	for i, id := range ids {
		rank[id] = i
		p[i] = make([]float64, len(ids))
		p[i][i] = 1
	}
	spread = min(1, float64(len(ids)-1))
	for x := l.At(v).First; x < l.At(v+1).First; x++ {
		rows := make([]topology.Row, len(ids))
		left := false
		for i, id := range ids {
			rows[i] = l.Row(id, x)
			left = left || len(rows[i].In) < len(l.whole(id, x).In)
		}
		if left {
			cut++
		}
		if spread < negligible {
			continue
		}
		p = product(rows, rank, p)
		spread = distance(p)
	}
	return spread, cut
}

// negligible is a spread that no bound depends on.
const negligible = 1e-9

// product returns W·p.
func product(w []topology.Row, rank map[ID]int, p [][]float64) [][]float64 {
	next := make([][]float64, len(p))
	for i := range p {
		next[i] = make([]float64, len(p))
		for c := range p {
			next[i][c] = w[i].Self * p[i][c]
		}
		for _, e := range w[i].In {
			for c, v := range p[rank[e.Peer]] {
				next[i][c] += float64(e.Weight * v)
			}
		}
	}
	return next
}

// distance returns the largest distance of two rows, halved.
func distance(p [][]float64) float64 {
	most := 0.0
	for i := range p {
		for j := range i {
			sum := 0.0
			for c := range p {
				sum += math.Abs(p[i][c] - p[j][c])
			}
			most = max(most, sum/2)
		}
	}
	return most
}

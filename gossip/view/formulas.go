package view

import "gossiptrainer/topology"

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

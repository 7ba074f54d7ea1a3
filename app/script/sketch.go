package script

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A sketch is the length of a worker's update in a round, and three random projections of it. Workers whose sketches
// agree time and again make the same updates: most often because their scripts draw the same batches.
type sketch struct {
	Round  int        `json:"round"`
	Values [4]float64 `json:"values"`
}

const (
	agreements = 3    // in a row, of workers that make the same updates
	closeness  = 1e-3 // of two sketches that agree, in lengths of the update
)

// sketched reports whether round k has sketches: the rounds 1, 2, 4, 8 and so on, counted from 1.
func sketched(k int) bool { return bits.OnesCount(uint(k+1)) == 1 }

// shared is how many coordinates take their signs from one random number: three bits each.
const shared = 8

// sketchOf returns the sketch of an update. All workers of a run draw the same signs. The script waits for it, so the
// loop has no branch that depends on them.
func sketchOf(g []float32, seed uint64, k int) sketch {
	key := rng.At(seed, k)
	var squares, p1, p2, p3 float64
	for first := 0; first < len(g); first += shared {
		signs := key.Raw(uint32(first / shared))
		for _, v := range g[first:min(first+shared, len(g))] {
			x, b := float64(v), math.Float32bits(v)
			squares += x * x
			p1 += float64(math.Float32frombits(b ^ signs<<31))
			p2 += float64(math.Float32frombits(b ^ signs>>1<<31))
			p3 += float64(math.Float32frombits(b ^ signs>>2<<31))
			signs >>= 3
		}
	}
	return sketch{Round: k, Values: [4]float64{math.Sqrt(squares), p1, p2, p3}}
}

// agrees reports whether two workers can have made the same update. An update of 0 agrees with none.
func (s sketch) agrees(other sketch) bool {
	near := closeness * s.Values[0]
	for p, v := range s.Values {
		if math.Abs(v-other.Values[p]) > near {
			return false
		}
	}
	return near > 0
}

// A likeness finds the workers that make the same updates as this one.
type likeness struct {
	own  []sketch                 // the newest, in order
	same map[topology.Rank]bool   // workers with the same updates
	seen map[topology.Rank][2]int // by worker: the newest round compared, and agreements in a row
	told bool
}

// add takes the sketch of this worker in a round.
func (l *likeness) add(s sketch) {
	l.own = append(l.own, s)
	l.own = l.own[max(0, len(l.own)-agreements):]
}

// compare takes the newest sketches of another worker.
func (l *likeness) compare(from topology.Rank, theirs []sketch) {
	if l.same == nil {
		l.same, l.seen = map[topology.Rank]bool{}, map[topology.Rank][2]int{}
	}
	for _, s := range theirs {
		at := slices.IndexFunc(l.own, func(own sketch) bool { return own.Round == s.Round })
		seen, known := l.seen[from]
		if at < 0 || known && s.Round <= seen[0] {
			continue
		}
		seen[0], seen[1] = s.Round, seen[1]+1
		if !l.own[at].agrees(s) {
			seen[1] = 0
		}
		l.seen[from] = seen
		if seen[1] == agreements {
			l.same[from] = true
		}
	}
}

// report returns the workers that make the same updates, once, to the one with the lowest rank. Others get nil.
func (l *likeness) report(self topology.Rank) []topology.Rank {
	all := slices.Sorted(maps.Keys(l.same))
	all = slices.Insert(all, 0, self)
	if l.told || len(all) == 1 || all[1] < self {
		return nil
	}
	l.told = true
	return all
}

package topology

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"gossiptrainer/internal/rng"
)

// Kinds whose matrices are directed or change from exchange to exchange, with τ = ⌈log₂ n⌉. Where a worker has one peer
// at a time, both weights are 1/2 unless the kind says otherwise.
const (
	// OnePeerExponential: in exchange s worker i takes from i + 2^(s mod τ) and sends to i − 2^(s mod τ), mod n (Assran
	// et al. 2019; Ying et al. 2021).
	OnePeerExponential Kind = "one-peer-exponential"
	// OnePeerHypercube: in exchange s worker i meets i xor 2^(s mod τ), n a power of two (Shi et al. 2016).
	OnePeerHypercube Kind = "one-peer-hypercube"
	// Base2: pairs with weights by size. After a period all models equal the mean, for every n (after Takezawa et al.
	// 2023).
	Base2 Kind = "base2"
	// RandomShift: in exchange s worker i takes from i + u and sends to i − u, mod n, with a u drawn for s (Song et al.
	// 2022).
	RandomShift Kind = "random-shift"
	// RandomMatching: in exchange s the workers of a drawn permutation meet in pairs; of an odd number the last is idle
	// (de Vos et al. 2023).
	RandomMatching Kind = "random-matching"
	// StaticExponential: worker i takes from i + 2ᵐ mod n for all m < τ, with weights 1/(τ+1) (Ying et al. 2021).
	StaticExponential Kind = "static-exponential"
)

// scheduleStream is the stream of the numbers that draw the exchanges of Endless kinds.
const scheduleStream = 1<<31 - 4

// links are the edges of a graph that is not static.
type links interface {
	period() int // 0: never
	degree() int // the most workers that one receives from in an exchange
	// fill appends the edges of worker i in exchange s to row, with the weights of slack 1.
	fill(row *Row, i Rank, s int)
}

// linked returns the kinds with links.
func linked() []family {
	return []family{
		{kind: OnePeerExponential, symmetric: true, links: func(s Spec) links {
			l := &shifts{n: s.N, weight: 1. / 2}
			for m := range s.width() {
				l.steps = append(l.steps, []int{1 << m})
			}
			return l
		}},
		{kind: OnePeerHypercube, check: checkPower, sized: powers, symmetric: true, links: func(s Spec) links {
			return dimensions(s.width())
		}},
		{kind: Base2, links: func(s Spec) links { return newParts(s.N) }},
		{kind: RandomShift, endless: true, symmetric: true, links: func(s Spec) links {
			return &shifts{n: s.N, weight: 1. / 2, endless: true, seed: rng.Stream(s.Seed, scheduleStream)}
		}},
		{kind: RandomMatching, most: maxMatching, endless: true, links: func(s Spec) links {
			return &matchings{n: s.N, seed: rng.Stream(s.Seed, scheduleStream)}
		}},
		{kind: StaticExponential, symmetric: true, links: func(s Spec) links {
			l := &shifts{n: s.N, weight: 1 / float64(s.width()+1), steps: [][]int{nil}}
			for m := range s.width() {
				l.steps[0] = append(l.steps[0], 1<<m)
			}
			return l
		}},
	}
}

// width returns ⌈log₂ n⌉.
func (s Spec) width() int { return bits.Len(uint(s.N - 1)) }

// shifts are links on which worker i takes from i + u and sends to i − u mod n, for all steps u of an exchange.
type shifts struct {
	n       int
	weight  float64
	steps   [][]int // by phase; of one worker: none
	endless bool    // one step, drawn for each exchange
	seed    uint64
}

func (l *shifts) period() int {
	if l.endless {
		return 0
	}
	return max(1, len(l.steps))
}

func (l *shifts) degree() int {
	switch {
	case l.n == 1:
		return 0
	case l.endless:
		return 1
	}
	return len(l.steps[0])
}

func (l *shifts) fill(row *Row, i Rank, s int) {
	switch {
	case l.n == 1:
	case l.endless:
		l.add(row, int(i), l.drawn(s))
	default:
		for _, u := range l.steps[s%len(l.steps)] {
			l.add(row, int(i), u)
		}
		slices.SortFunc(row.In, func(a, b Edge) int { return cmp.Compare(a.Peer, b.Peer) })
		slices.Sort(row.Out)
	}
}

func (l *shifts) add(row *Row, i, step int) {
	row.In = append(row.In, Edge{Peer: Rank((i + step) % l.n), Weight: l.weight})
	row.Out = append(row.Out, Rank((i+l.n-step)%l.n))
}

// drawn returns the step of an exchange.
func (l *shifts) drawn(s int) int { return 1 + int(rng.At(l.seed, s).Below(0, uint64(l.n-1))) }

// meet appends the edge of a worker that meets one other.
func meet(row *Row, peer Rank, weight float64) {
	row.In, row.Out = append(row.In, Edge{Peer: peer, Weight: weight}), append(row.Out, peer)
}

// dimensions of a hypercube, whose workers meet along one of them at a time.
type dimensions int

func (h dimensions) period() int { return max(1, int(h)) }
func (h dimensions) degree() int { return min(1, int(h)) }

func (h dimensions) fill(row *Row, i Rank, s int) {
	if h > 0 {
		meet(row, i^1<<(s%int(h)), 1./2)
	}
}

// parts cuts the workers into parts of sizes 2^p, in decreasing order. Each part first averages itself. Then each part
// meets the workers of all later parts, and averages itself again. Weights by size make the mean of both equal.
type parts struct {
	n     int
	power []int // p of each part
	start []int // its first rank
}

func newParts(n int) *parts {
	b := &parts{n: n}
	for at := 0; at < n; {
		p := bits.Len(uint(n-at)) - 1
		b.power, b.start = append(b.power, p), append(b.start, at)
		at += 1 << p
	}
	return b
}

func (b *parts) period() int {
	switch p := b.power[0]; {
	case len(b.power) == 1:
		return max(1, p)
	default:
		return 2*p + 1
	}
}

func (b *parts) degree() int { return min(1, b.n-1) }

func (b *parts) fill(row *Row, i Rank, s int) {
	if b.n == 1 {
		return
	}
	t := s % b.period()
	part, found := slices.BinarySearch(b.start, int(i))
	if !found {
		part--
	}
	element := int(i) - b.start[part]
	within := func(bit int) {
		if bit < b.power[part] {
			meet(row, Rank(b.start[part]+element^1<<bit), 1./2)
		}
	}
	q := t - b.power[0]
	switch {
	case q < 0:
		within(t)
	case part < q:
		within(q - 1 - part)
	case q < len(b.power)-1:
		b.across(row, i, part, q)
	}
}

// across appends the edge of a worker, of part q or later, in the exchange in which part q meets all later parts.
func (b *parts) across(row *Row, i Rank, part, q int) {
	size := 1 << b.power[q]
	rest := b.n - b.start[q] - size
	weight := float64(size) / float64(size+rest)
	element := int(i) - b.start[q]
	switch {
	case part > q:
		meet(row, i-Rank(size), weight)
	case element < rest:
		meet(row, i+Rank(size), weight)
	}
}

// matchings draw a permutation for each exchange; its workers meet in pairs.
type matchings struct {
	n    int
	seed uint64

	mutex sync.Mutex
	known [keptMatchings]matching // exchange s in known[s mod keptMatchings]
}

// keptMatchings bounds the permutations in memory. Workers that are further apart than that draw them again.
const keptMatchings = 64

// A matching is the permutation of an exchange.
type matching struct {
	exchange int
	order    []Rank // empty: none yet
	place    []int  // of each worker in order
}

func (l *matchings) period() int { return 0 }
func (l *matchings) degree() int { return min(1, l.n-1) }

func (l *matchings) fill(row *Row, i Rank, s int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	m := l.at(s)
	if at := m.place[i] ^ 1; at < l.n {
		meet(row, m.order[at], 1./2)
	}
}

// meetings appends the workers that meet in exchange s to dst, pair by pair.
func (l *matchings) meetings(dst []Rank, s int) []Rank {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append(dst, l.at(s).order[:l.n/2*2]...)
}

// at returns the permutation of an exchange while the lock is held.
func (l *matchings) at(s int) *matching {
	m := &l.known[s%keptMatchings]
	if m.exchange != s || m.order == nil {
		l.draw(m, s)
	}
	return m
}

func (l *matchings) draw(m *matching, s int) {
	if m.order == nil {
		m.order, m.place = make([]Rank, l.n), make([]int, l.n)
	}
	m.exchange = s
	for i := range m.order {
		m.order[i] = Rank(i)
	}
	rng.Shuffle(m.order, rng.At(l.seed, s))
	for at, i := range m.order {
		m.place[i] = at
	}
}

package score

import (
	"sync"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
)

// mostDecoded bounds the bytes of test rows in memory as models see them. They take four times the room of pixels.
const mostDecoded = 64 << 20

// testRows are the test rows that score models. Rows that score a second model stay in memory as models see them: to
// make them again for every model takes a third of the time of a small one. The zero value has none.
type testRows struct {
	mu   sync.Mutex
	seen map[chosen]train.Set
	left int // bytes
}

// chosen are most rows of a set, 0 for all.
type chosen struct {
	set  *uint8 // its labels
	most int
}

// of returns most rows of a set, or all if it has no more or most is 0.
func (r *testRows) of(set data.Set, most int) train.Set {
	rows := train.Spread(set, most)
	bytes := floatBytes * rows.Len() * set.Shape.Features()
	if rows.Len() == 0 {
		return rows
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen, r.left = map[chosen]train.Set{}, mostDecoded
	}
	key := chosen{set.Identity(), most}
	old, again := r.seen[key]
	switch {
	case old != nil:
		return old
	case again && bytes <= r.left:
		rows = train.Decoded(rows)
		r.seen[key] = rows
		r.left -= bytes
	default:
		r.seen[key] = nil
	}
	return rows
}

package explain

import (
	"slices"

	"gossiptrainer/internal/record"
)

// Where members come and go, workers are members by their ids. Those of the latest view count.

// views are what sentences know of the views of a run.
type views struct {
	last    int   // the number of the latest one, if there are members
	members []int // none: workers stay
}

// mostIDs bounds the ids of members, as a record may hold any.
const mostIDs = 1 << 16

// enter takes a view. It makes room for members that join.
func (r *Record) enter(v *record.Membership) {
	if r.views.members != nil && v.View <= r.views.last || len(v.Members) == 0 {
		return
	}
	r.views.last, r.views.members = v.View, v.Members
	for id := len(r.workers); id <= slices.Max(v.Members) && id < mostIDs; id++ {
		r.workers = append(r.workers, worker{steps: &thin[record.Step]{most: r.keep}})
	}
	for _, id := range v.Members {
		if r.has(id) && v.View > 0 && r.workers[id].rounds() == 0 {
			r.workers[id].joins = true
		}
	}
}

// counts reports whether a worker takes part now.
func (r *Record) counts(rank int) bool {
	return r.views.members == nil || slices.Contains(r.views.members, rank)
}

package judge

import (
	"maps"
	"math"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
)

// Rests reports whether the layer, and those inside it, have said all.
func (j *Judge) Rests() bool { return j.say.Empty() && gossip.Rests(j.Layer) }

// State shows the accounts of all neighbours.
func (j *Judge) State(v *state.Visit) {
	v.Part("inside", j.Layer)
	state.Int(v, "round", &j.round, 0, math.MaxInt)
	state.Int(v, "used", &j.used, 0, math.MaxInt)
	state.Items(v, "account", &j.accounts, func(name string, a *account) { v.Part(name, a) })
}

// State shows the frames and the offences of a neighbour.
func (a *account) State(v *state.Visit) {
	state.Int(v, "rank", &a.rank, 0, math.MaxInt)
	state.Int(v, "state", &a.state, heard, banned)
	state.Int(v, "offences", &a.offences, 0, math.MaxInt)
	state.Int(v, "late", &a.late, 0, math.MaxInt)
	state.Int(v, "good", &a.good, 0, math.MaxInt)
	reasons := slices.Sorted(maps.Keys(a.by))
	state.Items(v, "reason", &reasons, func(name string, reason *string) {
		text, times := []byte(*reason), a.by[*reason]
		v.Bytes(name, &text)
		state.Int(v, name+".times", &times, 0, math.MaxInt)
		if v.Loading() {
			*reason = string(text)
			if a.by == nil {
				a.by = make(map[string]int)
			}
			a.by[*reason] = times
		}
	})
}

package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
)

// A simulation that goes on has the layers as they were. The state does not include the log.

// Rests reports whether the layer, and those inside it, have said all.
func (r *Replay) Rests() bool { return r.phase == passing && r.say.Empty() && gossip.Rests(r.Layer) }

// State shows the place of this worker and the progress of all neighbours.
func (r *Replay) State(v *state.Visit) {
	v.Part("inside", r.Layer)
	state.Int(v, "kept", &r.kept, 0, math.MaxInt)
	state.Int(v, "place", &r.place, 0, math.MaxInt)
	v.Bool("moved", &r.moved)
	v.Bool("back", &r.back)
	for i := range r.peers {
		v.Part(strconv.Itoa(int(r.peers[i].rank)), &r.peers[i])
	}
}

// State shows what changes from link to link and from message to message.
func (n *neighbour) State(v *state.Visit) {
	state.Int(v, "gets", &n.gets, away, level)
	state.Int(v, "had", &n.had, 0, math.MaxInt)
	state.Int(v, "next", &n.next, 0, math.MaxInt)
	state.Int(v, "room", &n.room, 0, math.MaxInt)
	state.Int(v, "until", &n.until, 0, never)
	state.Int(v, "tells", &n.tells, silent, seldom)
	state.Int(v, "knows", &n.knows, 0, math.MaxInt)
	state.Int(v, "durable", &n.durable, gossip.Undurable, math.MaxInt)
	state.Int(v, "asked", &n.asked, 0, math.MaxInt)
	state.Int(v, "owed", &n.owed.slot, 0, math.MaxInt)
	state.Int(v, "owed.piece", &n.owed.piece, 0, math.MaxInt)
	state.Int(v, "owed.end", &n.owed.end, 0, math.MaxInt)
	state.Items(v, "early", &n.early, func(name string, f *gossip.Frame) { v.Part(name, f) })
	state.Int(v, "recalled", &n.recalled.slot, 0, math.MaxInt)
	pieces := slices.Sorted(maps.Keys(n.recalled.pieces))
	state.Items(v, "pieces", &pieces, func(name string, i *int) { state.Int(v, name, i, 0, math.MaxInt) })
	if v.Loading() && len(pieces) > 0 {
		n.recalled.pieces = make(map[int]bool)
		for _, piece := range pieces {
			n.recalled.pieces[piece] = true
		}
	}
}

// State shows all messages and repairs of the log.
func (m *Memory) State(v *state.Visit) {
	state.Int(v, "base", &m.base, 0, math.MaxInt)
	state.Items(v, "sent", &m.sent, func(name string, f *gossip.Frame) { v.Part(name, f) })
	keys := slices.SortedFunc(maps.Keys(m.repairs), func(a, b receipt) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.piece, b.piece), cmp.Compare(a.to, b.to))
	})
	var repairs []gossip.Frame
	for _, key := range keys {
		repairs = append(repairs, m.repairs[key])
	}
	state.Items(v, "repairs", &repairs, func(name string, f *gossip.Frame) { v.Part(name, f) })
	if !v.Loading() {
		return
	}
	m.bytes, m.repairs = 0, make(map[receipt]gossip.Frame)
	for _, f := range repairs {
		m.repairs[receipt{slot: m.slots.Of(f.Round, f.Hop), piece: f.Piece, to: f.To}] = f
		m.bytes += int64(len(f.Payload))
	}
	for _, f := range m.sent {
		m.bytes += int64(len(f.Payload))
	}
}

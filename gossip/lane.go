package gossip

import (
	"strconv"

	"gossiptrainer/algos"
)

// mostLanes is the largest number of lanes in one hop. The note of a frame has room for the notes of two.
const mostLanes = 2

// noteBits are the bits of half a note.
const noteBits = 32

// A lane holds a codec and its abilities. Hops without a codec have the zero lane.
type lane struct {
	codec  algos.Codec
	verify Verifier // nil unless the codec verifies
	noter  Noter    // nil unless the codec is one
	name   string   // in a checkpoint: codec, codec1, codec2, ...
}

// lanes are the lanes of an update rule; none unless the rule is a Carrier.
type lanes []lane

// newLanes returns the lanes of the codecs.
func newLanes(codecs []algos.Codec) lanes {
	var all lanes
	for i, c := range codecs {
		l := lane{codec: c, name: "codec"}
		if i > 0 {
			l.name += strconv.Itoa(i)
		}
		if v, ok := c.(Verifier); ok && v.Verifies() {
			l.verify = v
		}
		l.noter, _ = c.(Noter)
		all = append(all, l)
	}
	return all
}

// at returns a lane by number.
func (l lanes) at(i int) lane {
	if i >= len(l) {
		return lane{}
	}
	return l[i]
}

// Repairs counts the messages that a worker recovered wrongly.
type Repairs struct {
	Violations int64 // messages found to be wrong, and asked for
	Repaired   int64 // those that were mixed in the end
	Verified   bool  // whether the codecs detect wrong messages
}

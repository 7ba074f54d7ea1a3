package gossip

import (
	"strconv"

	"gossiptrainer/algos"
)

// A lane holds the codec of a hop and its abilities. Hops without a codec have the zero lane.
type lane struct {
	codec  algos.Codec
	verify Verifier // nil unless the codec verifies
	noter  Noter    // nil unless the codec is one
	name   string   // in a checkpoint: codec, codec1, codec2, ...
}

// lanes are the lanes of an update rule, by hop; none unless the rule is a Carrier.
type lanes []lane

// newLanes returns the lanes of the codecs.
func newLanes(codecs []algos.Codec) lanes {
	var all lanes
	for hop, c := range codecs {
		l := lane{codec: c, name: "codec"}
		if hop > 0 {
			l.name += strconv.Itoa(hop)
		}
		if v, ok := c.(Verifier); ok && v.Verifies() {
			l.verify = v
		}
		l.noter, _ = c.(Noter)
		all = append(all, l)
	}
	return all
}

// at returns the lane of a hop.
func (l lanes) at(hop int) lane {
	if hop >= len(l) {
		return lane{}
	}
	return l[hop]
}

// Repairs counts the messages that a worker recovered wrongly.
type Repairs struct {
	Violations int64 // messages found to be wrong, and asked for
	Repaired   int64 // those that were mixed in the end
	Verified   bool  // whether the codecs detect wrong messages
}

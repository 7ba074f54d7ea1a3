package gossip

import (
	"strconv"

	"gossiptrainer/algos"
)

// A lane is what the protocol knows of the codec of a hop. Hops without one have the
// zero lane.
type lane struct {
	codec  algos.Codec
	verify Verifier // nil unless the codec verifies
	noter  Noter    // nil unless the codec is one
	name   string   // in a state: codec, codec1, codec2, ...
}

// newLanes asks the codecs once what they can do.
func newLanes(codecs []algos.Codec) []lane {
	var all []lane
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

// lane returns that of a hop.
func (w *Worker) lane(hop int) lane {
	if hop >= len(w.lanes) {
		return lane{}
	}
	return w.lanes[hop]
}

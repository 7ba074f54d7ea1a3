package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/topology"
)

// A halt is how a StoppedError travels: on the links, which reach the
// neighbours for sure, and on the control topic, which is faster to the rest.
type halt struct {
	Rank   int    `json:"rank"`
	Reason string `json:"reason"`
}

const (
	maxReason = 512  // bytes
	maxHalt   = 4096 // bytes, with room for what JSON has to escape
)

var errHalt = errors.New("malformed stop")

func encodeHalt(why *StoppedError) []byte {
	reason := strings.ToValidUTF8(why.Reason[:min(len(why.Reason), maxReason)], "")
	text, err := json.Marshal(halt{Rank: int(why.Rank), Reason: reason})
	if err != nil {
		panic(fmt.Sprintf("internal error: node: %v", err)) // an int and a string
	}
	return text
}

// parseHalt reads what a worker of a run of n says.
func parseHalt(text []byte, n int) (*StoppedError, error) {
	var h halt
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: %v", errHalt, err)
	}
	if h.Rank < 0 || h.Rank >= n || len(h.Reason) > maxReason {
		return nil, errHalt
	}
	return &StoppedError{Rank: topology.Rank(h.Rank), Reason: printable(h.Reason)}, nil
}

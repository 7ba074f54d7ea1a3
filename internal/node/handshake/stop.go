package handshake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/topology"
)

// A StoppedError says that another worker ended the run for all.
type StoppedError struct {
	Rank   topology.Rank // of the worker that stopped
	Reason string
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("node: worker %d stopped the run: %s", e.Rank, e.Reason)
}

// stopWords are how a StoppedError travels: on the links, which reach the
// neighbours for sure, and on the control topic, which is faster to the rest.
type stopWords struct {
	Rank   int    `json:"rank"`
	Reason string `json:"reason"`
}

const maxReason = 512 // bytes

// MaxStop bounds an encoded stop, in bytes, with room for what JSON has to escape.
const MaxStop = 4096

// ErrStop says that bytes are no encoded stop.
var ErrStop = errors.New("malformed stop")

// EncodeStop returns why as it travels; its reason is cut at 512 bytes.
func EncodeStop(why *StoppedError) []byte {
	reason := strings.ToValidUTF8(why.Reason[:min(len(why.Reason), maxReason)], "")
	text, err := json.Marshal(stopWords{Rank: int(why.Rank), Reason: reason})
	if err != nil {
		panic(fmt.Sprintf("internal error: handshake: %v", err)) // an int and a string
	}
	return text
}

// ParseStop reads what a worker of a run of n says. It fails with ErrStop.
func ParseStop(text []byte, n int) (*StoppedError, error) {
	var h stopWords
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrStop, err)
	}
	if h.Rank < 0 || h.Rank >= n || len(h.Reason) > maxReason {
		return nil, ErrStop
	}
	return &StoppedError{Rank: topology.Rank(h.Rank), Reason: Printable(h.Reason)}, nil
}

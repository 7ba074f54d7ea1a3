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
	Rank     topology.Rank // of the worker that stopped
	Reason   string
	Diverged bool // its model did, so that those of the others may hold what it sent
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("node: worker %d stopped the run: %s", e.Rank, e.Reason)
}

// stopWords encode a StoppedError for two ways: the links, which reach the neighbours reliably, and
// the control topic, which reaches the rest sooner.
type stopWords struct {
	Rank     int    `json:"rank"`
	Reason   string `json:"reason"`
	Diverged bool   `json:"diverged,omitempty"`
}

const maxReason = 512 // bytes

// MaxStop bounds an encoded stop, in bytes, with room for the escapes of JSON.
const MaxStop = 4096

// ErrStop says that bytes are no encoded stop.
var ErrStop = errors.New("malformed stop")

// EncodeStop encodes why, with its reason cut at 512 bytes.
func EncodeStop(why *StoppedError) []byte {
	reason := strings.ToValidUTF8(why.Reason[:min(len(why.Reason), maxReason)], "")
	text, err := json.Marshal(stopWords{Rank: int(why.Rank), Reason: reason, Diverged: why.Diverged})
	if err != nil {
		panic(fmt.Sprintf("internal error: handshake: %v", err)) // cannot fail for an int and a string
	}
	return text
}

// ParseStop decodes the stop of a worker of a run of n. It fails with ErrStop.
func ParseStop(text []byte, n int) (*StoppedError, error) {
	var h stopWords
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrStop, err)
	}
	if h.Rank < 0 || h.Rank >= n || len(h.Reason) > maxReason {
		return nil, ErrStop
	}
	return &StoppedError{Rank: topology.Rank(h.Rank), Reason: Printable(h.Reason), Diverged: h.Diverged}, nil
}

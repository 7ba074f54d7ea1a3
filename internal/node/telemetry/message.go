package telemetry

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A message of the status topic is a snapshot of one worker.
type message struct {
	Rank    int            `json:"rank"`
	Life    uint64         `json:"life"` // number of the process
	Seq     uint64         `json:"seq"`  // the newest message of a process counts
	Step    *record.Step   `json:"step,omitempty"`
	Status  *record.Status `json:"status,omitempty"`
	Final   *record.Final  `json:"final,omitempty"`
	Links   *record.Links  `json:"links,omitempty"`   // without bytes
	HasAll  bool           `json:"has_all,omitempty"` // has the results of all workers
	Leaving bool           `json:"leaving,omitempty"` // knows that all workers have all results
}

// parse decodes a message of the worker from, which may describe itself only.
func parse(from topology.Rank, text []byte) (m message, ok bool) {
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, false
	}
	wrong := m.Rank != int(from) ||
		m.Step != nil && m.Step.Rank != int(from) ||
		m.Status != nil && m.Status.Rank != int(from) ||
		m.Final != nil && m.Final.Rank != int(from) ||
		m.Links != nil && m.Links.Rank != int(from)
	if wrong {
		return message{}, false
	}
	if m.Links != nil && slices.ContainsFunc(m.Links.Links, func(l record.Link) bool { return !sensible(l.Path) }) {
		return message{}, false
	}
	if m.Status != nil {
		m.Status.Detail = handshake.Printable(m.Status.Detail)
	}
	return m, true
}

// Bounds of a path.
const (
	mostWays      = 16
	mostInterface = 64 // bytes of its name
)

// sensible reports whether a path, if there is one, has addresses and figures that a worker can measure.
func sensible(p *record.Path) bool {
	if p == nil {
		return true
	}
	wrong := func(w record.Way) bool {
		_, err := netip.ParseAddr(w.Address)
		return err != nil || w.Rate < 0 || w.RTT < 0
	}
	return !wrong(p.Way) && !slices.ContainsFunc(p.Others, wrong) && len(p.Others) <= mostWays &&
		len(p.Interface) <= mostInterface && handshake.Printable(p.Interface) == p.Interface
}

// Messages come every second, or less often where they would take more than newsShare of a link: every
// peer passes on the messages of all others. The period is at most ten seconds as long as messages
// then take no more than mostShare.
const (
	newsEvery    = time.Second
	newsLate     = 10 * time.Second
	newsShare    = 0.005
	mostShare    = 0.02
	messageBytes = 900 // of a signed message of gossipsub at the socket
)

// newsPeriod returns the time between two messages of each of n peers. rate is that of their slowest
// link in bits per second, 0 without a limit.
func newsPeriod(n int, rate float64) time.Duration {
	if rate <= 0 {
		return newsEvery
	}
	round := float64(n*messageBytes*8) / rate * float64(time.Second) // for one message of each peer
	rare, often := time.Duration(round/newsShare), time.Duration(round/mostShare)
	return max(newsEvery, min(rare, newsLate), often)
}

// silence is how long a worker waits at the end of a run without progress: several periods of the
// messages.
func silence(period time.Duration) time.Duration { return max(5*time.Second, 3*period) }

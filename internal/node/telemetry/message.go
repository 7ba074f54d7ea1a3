package telemetry

import (
	"encoding/json"
	"time"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A message of the status topic is how one worker is doing.
type message struct {
	Rank    int            `json:"rank"`
	Life    uint64         `json:"life"` // of the process
	Seq     uint64         `json:"seq"`  // the newest of a life counts
	Step    *record.Step   `json:"step,omitempty"`
	Status  *record.Status `json:"status,omitempty"`
	Final   *record.Final  `json:"final,omitempty"`
	HasAll  bool           `json:"has_all,omitempty"` // knows the results of all workers
	Leaving bool           `json:"leaving,omitempty"` // has seen that all have all
}

// parse reads a message of the worker from, which may speak for itself alone.
func parse(from topology.Rank, text []byte) (m message, ok bool) {
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, false
	}
	wrong := m.Rank != int(from) ||
		m.Step != nil && m.Step.Rank != int(from) ||
		m.Status != nil && m.Status.Rank != int(from) ||
		m.Final != nil && m.Final.Rank != int(from)
	if wrong {
		return message{}, false
	}
	if m.Status != nil {
		m.Status.Detail = handshake.Printable(m.Status.Detail)
	}
	return m, true
}

// Messages come every second, or less often where they would take more than
// newsShare of a link: every peer passes on the messages of all others. Ten seconds are
// long enough, though, while they take no more than mostShare.
const (
	newsEvery    = time.Second
	newsLate     = 10 * time.Second
	newsShare    = 0.005
	mostShare    = 0.02
	messageBytes = 900 // of one at the socket, as gossipsub signs it
)

// newsPeriod returns the time between two messages of each of n peers whose
// slowest link has a rate in bits per second, 0 if it has no limit.
func newsPeriod(n int, rate float64) time.Duration {
	if rate <= 0 {
		return newsEvery
	}
	round := float64(n*messageBytes*8) / rate * float64(time.Second) // one message of each
	rare, often := time.Duration(round/newsShare), time.Duration(round/mostShare)
	return max(newsEvery, min(rare, newsLate), often)
}

// silence is how long nothing may be gained at the end of a run, from workers that
// have told their result or have fallen silent: some periods of the news.
func silence(period time.Duration) time.Duration { return max(5*time.Second, 3*period) }

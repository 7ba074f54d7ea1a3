package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
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

	// Notice is of what runs in the worker, its script.
	Notice json.RawMessage `json:"notice,omitempty"`
}

// Bounds of a message. Whatever a worker has to say fits into maxMessage bytes: what has no room is counted.
const (
	mostEdges   = 32   // of the account of a worker
	mostMissing = 64   // ranks that a worker waits for
	mostDetail  = 1024 // bytes of a detail
)

// briefStatus returns a status that fits into a message.
func briefStatus(s record.Status) record.Status {
	if more := len(s.Missing) - mostMissing; more > 0 {
		s.Missing, s.More = s.Missing[:mostMissing], s.More+more
	}
	if len(s.Detail) > mostDetail {
		s.Detail = strings.ToValidUTF8(s.Detail[:mostDetail], "") + "…"
	}
	return s
}

// parse decodes a message of the worker from, which may describe itself only, in a run of these limits. It refuses what
// no worker of the run can say: it would spoil the record and the summary of this one.
func parse(from topology.Rank, limits record.Limits, text []byte) (m message, ok bool) {
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, false
	}
	wrong := m.Rank != int(from) ||
		m.Step != nil && m.Step.Rank != int(from) ||
		m.Status != nil && m.Status.Rank != int(from) ||
		m.Final != nil && (m.Final.Rank != int(from) || !isDigest(m.Final.Digest)) ||
		m.Links != nil && m.Links.Rank != int(from)
	for _, e := range []record.Event{{Step: m.Step}, {Status: m.Status}, {Final: m.Final}, {Links: m.Links}} {
		wrong = wrong || limits.Check(e) != nil
	}
	if wrong {
		return message{}, false
	}
	if m.Links != nil && slices.ContainsFunc(m.Links.Links, func(l record.Link) bool { return !tidy(l.Path) }) {
		return message{}, false
	}
	if m.Final != nil {
		m.Final.Stopped = handshake.Printable(m.Final.Stopped)
	}
	if m.Status != nil {
		m.Status.Detail = handshake.Printable(m.Status.Detail)
	}
	return m, true
}

// isDigest reports whether a text is the digest of a model.
func isDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

// mostInterface is how many bytes of the name of an interface are shown.
const mostInterface = 64

// tidy makes a path fit for users, if there is one. ok is false if no worker can have measured it.
func tidy(p *record.Path) (ok bool) {
	if p == nil {
		return true
	}
	wrong := func(w record.Way) bool {
		ip, err := netip.ParseAddr(w.Address)
		return err != nil || ip.Zone() != "" || w.Rate < 0 || w.RTT < 0 // a zone may be any text
	}
	name := p.Interface[:min(len(p.Interface), mostInterface)]
	p.Interface = handshake.Printable(strings.ToValidUTF8(name, ""))
	return !wrong(p.Way) && !slices.ContainsFunc(p.Others, wrong)
}

// Messages come every second, or less often where they would take more than newsShare of a link: every
// peer passes on the messages of all others. The period is at most ten seconds as long as messages
// then take no more than mostShare.
const (
	newsEvery    = time.Second
	newsLate     = 10 * time.Second
	newsShare    = 0.005
	mostShare    = 0.02
	messageBytes = 900 // of a signed message of gossipsub on the wire
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

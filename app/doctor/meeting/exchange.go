package meeting

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// Subjects of the messages of a meeting, beyond those of a run.
const (
	aboutFacts handshake.Subject = 64 + iota
	aboutPing
	aboutClock
	aboutPlan
	aboutBurst
	aboutChunk
	aboutArrival
	aboutFinding
)

const (
	pings     = 8
	mostFacts = 1 << 16 // bytes
	mostWords = 1 << 10 // bytes of a plan or a finding
)

// A finding is what one end has measured, for the other.
type finding struct {
	Out       Way           `json:"out"`
	Multicast bool          `json:"multicast"` // the sender has heard the receiver
	Datagram  int           `json:"datagram"`
	Rate      float64       `json:"rate"` // bit/s from the sender to the receiver
	Latency   time.Duration `json:"latency"`
	Offset    time.Duration `json:"offset"` // clock of the receiver minus that of the sender
}

var errForm = errors.New("malformed message of a doctor")

var errUnlisted = errors.New("its id is not in the roster")

// greet proves the secret in both directions and exchanges facts. The hello has no settings: machines whose settings
// differ must meet, so that each can name the difference.
func (m *meeting) greet(t *handshake.Talk) (Facts, error) {
	var theirs Facts
	if _, listed := m.rankOf(t.Peer); !listed {
		t.TurnAway(&m.admission, handshake.Refusal(handshake.Stranger, "%v", errUnlisted), func(error) {})
		return theirs, errUnlisted
	}
	accept := func(handshake.Hello) *handshake.RefusedError { return nil }
	if err := t.Greet(&m.admission, m.hello, accept); err != nil {
		return theirs, err
	}
	m.gate.Admitted(t.Stream.Conn())
	t.Stream.SetDeadline(time.Time{}) // the end of the meeting resets the stream
	mine, err := json.Marshal(m.c.Facts)
	if err == nil && len(mine) > mostFacts { // the settings are too many to tell
		f := m.c.Facts
		f.Sections = nil
		mine, err = json.Marshal(f)
	}
	if err != nil {
		return theirs, err
	}
	err = swap(t, aboutFacts, mine, &theirs)
	return theirs, err
}

// swap sends a message and reads that of the other end.
func swap(t *handshake.Talk, about handshake.Subject, mine []byte, theirs any) error {
	if err := t.Say(about, mine); err != nil {
		return err
	}
	body, err := t.Expect(about, mostFacts)
	if err != nil {
		return err
	}
	if json.Unmarshal(body, theirs) != nil {
		return errForm
	}
	return nil
}

// enter notes the facts of a machine that has proven the secret.
func (m *meeting) enter(t *handshake.Talk, f Facts) *other {
	f.Host, f.Version, f.Commit = printable(f.Host), printable(f.Version), printable(f.Commit)
	f.Platform, f.Identity = printable(f.Platform), printable(f.Identity)
	var addrs []ma.Multiaddr
	for _, text := range f.Addrs[:min(len(f.Addrs), 32)] {
		if a, err := ma.NewMultiaddr(text); err == nil {
			addrs = append(addrs, a)
		}
	}
	if ip, _ := socket.AddrOf(t.Stream.Conn().RemoteMultiaddr()); !ip.IsLoopback() {
		addrs = socket.Reachable(addrs)
	}
	rank, _ := m.rankOf(t.Peer)
	o := m.known(t.Peer)
	if o == nil || len(m.addresses(o)) == 0 {
		o = m.meetAt(t.Peer, rank, addrs)
	}
	if o != nil {
		m.change(func() { o.Facts = f })
	}
	return o
}

func printable(s string) string {
	const most = 80
	return handshake.Printable(s[:min(len(s), most)])
}

// lead asks and measures.
func (m *meeting) lead(o *other, t *handshake.Talk) error {
	facts, err := m.greet(t)
	if err != nil {
		return err
	}
	m.enter(t, facts)
	var f Figures
	if f.Latency, f.Offset, err = m.askClock(t); err != nil {
		return err
	}
	m.change(func() { o.Latency, o.Offset = f.Latency, f.Offset })
	if f.RateOut, err = m.leadRate(t, f.Latency); err != nil {
		return err
	}
	return m.conclude(o, t, f)
}

// follow answers and takes over the figures of the leader.
func (m *meeting) follow(t *handshake.Talk) error {
	facts, err := m.greet(t)
	if err != nil {
		return err
	}
	o := m.enter(t, facts)
	if o == nil {
		return errors.New("too many doctors")
	}
	if err := m.tellClock(t); err != nil {
		return err
	}
	var f Figures
	if f.RateOut, err = m.followRate(t); err != nil {
		return err
	}
	return m.conclude(o, t, f)
}

// askClock measures the least round trip and the difference of the clocks at it.
func (m *meeting) askClock(t *handshake.Talk) (latency, offset time.Duration, err error) {
	for i := range pings {
		began, here := time.Now(), m.c.Now()
		if err := t.Say(aboutPing, nil); err != nil {
			return 0, 0, err
		}
		body, err := t.Expect(aboutClock, 8)
		if err != nil {
			return 0, 0, err
		}
		if len(body) != 8 {
			return 0, 0, errForm
		}
		took := time.Since(began)
		if i == 0 || took < latency {
			there := time.Unix(0, int64(binary.LittleEndian.Uint64(body)))
			latency, offset = took, there.Sub(here.Add(took/2).Round(0))
		}
	}
	return latency, offset, nil
}

func (m *meeting) tellClock(t *handshake.Talk) error {
	for range pings {
		if _, err := t.Expect(aboutPing, 0); err != nil {
			return err
		}
		now := binary.LittleEndian.AppendUint64(nil, uint64(m.c.Now().UnixNano()))
		if err := t.Say(aboutClock, now); err != nil {
			return err
		}
	}
	return nil
}

// conclude exchanges the findings. It waits a little for the own way to the other end. The meeting may end as soon as
// it returns, so the other end has read all before.
func (m *meeting) conclude(o *other, t *handshake.Talk, f Figures) error {
	late := time.NewTimer(2 * answerTime)
	defer late.Stop()
	select {
	case <-o.reach:
	case <-late.C:
	case <-m.ctx.Done():
	}
	m.mu.Lock()
	mine := finding{Out: o.Out, Multicast: o.Heard.Multicast, Datagram: o.Heard.Datagram, Rate: f.RateOut,
		Latency: f.Latency, Offset: f.Offset}
	m.mu.Unlock()
	body, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	var theirs finding
	if err := swap(t, aboutFinding, body, &theirs); err != nil {
		return err
	}
	m.change(func() {
		o.Met, o.Err = true, nil
		o.In, o.RateOut, o.RateIn = theirs.Out, f.RateOut, theirs.Rate
		o.HearsUs.Multicast = o.HearsUs.Multicast || theirs.Multicast
		o.HearsUs.Datagram = max(o.HearsUs.Datagram, theirs.Datagram)
		if f.Latency == 0 {
			o.Latency, o.Offset = theirs.Latency, -theirs.Offset
		}
	})
	t.Part()
	m.change(func() { o.over = true })
	return nil
}

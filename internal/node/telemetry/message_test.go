package telemetry

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/record"
)

// The status messages of all peers take a small share of the slowest link.
func TestMessagesLeaveSlowLinksToTheRun(t *testing.T) {
	for _, test := range []struct {
		n    int
		rate float64 // bits per second of the slowest link, 0: no limit
		want time.Duration
	}{
		{8, 0, time.Second},
		{8, 1e8, time.Second},
		{8, 5e6, 2304 * time.Millisecond},
		{8, 1e6, 10 * time.Second},
		{2, 3e5, 9600 * time.Millisecond},
		{8, 3e5, 10 * time.Second},
		{16, 3e5, 19200 * time.Millisecond},
	} {
		if got := newsPeriod(test.n, test.rate); got.Round(time.Millisecond) != test.want {
			t.Errorf("%d peers: a message every %v, want %v", test.n, got, test.want)
		}
	}
	if quick, late := silence(time.Second), silence(10*time.Second); quick != 5*time.Second || late != 30*time.Second {
		t.Errorf("silence is %v and, on a slow link, %v, want 5s and 30s", quick, late)
	}
}

// A message is not longer than newsPeriod assumes, less the overhead of gossipsub.
func TestMessagesHaveTheSizeThatIsReckonedWith(t *testing.T) {
	const signed = 300 // bytes of signature, key, sender, number, topic and headers
	step := &record.Step{
		Rank: 7, Round: 78200, Time: 9999 * time.Second, Loss: 1.2345678901234567, Gap: 0.01234567890123456,
		Moved: 270000, Theta: 0.01234567890123456, Bits: 8,
		Compute: 50 * time.Millisecond, Wait: time.Second, Codec: time.Millisecond, Effective: 8.012345678901234,
		Sent:     record.Bytes{Payload: 1e10, Stream: 1e10, Wire: 1e10},
		Received: record.Bytes{Payload: 1e10, Stream: 1e10, Wire: 1e10},
	}
	status := &record.Status{Rank: 7, State: record.Testing, Detail: strings.Repeat("x", 20)}
	text, err := json.Marshal(message{Rank: 7, Seq: 9999, Step: step, Status: status})
	if err != nil || len(text)+signed > messageBytes {
		t.Errorf("%d bytes and %d around them, error %v, want at most %d", len(text), signed, err, messageBytes)
	}
}

// Any message describes its sender only, and can be noted.
func FuzzNews(f *testing.F) {
	for _, b := range []message{
		{Rank: 1, Seq: 3, Step: &record.Step{Rank: 1, Round: 4}},
		{Rank: 1, Seq: 4, Status: &record.Status{Rank: 1, State: record.Waiting, Missing: []int{0}}},
		{Rank: 1, Seq: 5, Final: &record.Final{Rank: 1, Rounds: 9}, HasAll: true},
		{Rank: 2, Seq: 5, Final: &record.Final{Rank: 1}},
	} {
		text, err := json.Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		news, ok := parse(1, text)
		if !ok {
			return
		}
		k := newKnown(handshake.Members{IDs: make([]peer.ID, 3)}, 0)
		for _, e := range k.note(1, news) {
			if e.Step != nil && e.Step.Rank != 1 || e.Status != nil && e.Status.Rank != 1 ||
				e.Final != nil && e.Final.Rank != 1 {
				t.Fatalf("%s speaks for others: %+v", text, e)
			}
		}
		if s := k.theirs[1].Status; s != nil && handshake.Printable(s.Detail) != s.Detail {
			t.Fatalf("unfit to print: %q", s.Detail)
		}
		k.finals()
		k.look(time.Time{})
	})
}

// A path of another worker is shown to users.
func TestPathsThatNoWorkerMeasuresAreRefused(t *testing.T) {
	good := record.Way{Address: "10.1.0.2", Rate: 1e9}
	for _, test := range []struct {
		path record.Path
		ok   bool
	}{
		{record.Path{Way: good, Interface: "eth0", Others: []record.Way{good}}, true},
		{record.Path{Way: record.Way{Address: "\x1b[2J"}}, false},
		{record.Path{Way: good, Interface: "\x1b[2J"}, false},
		{record.Path{Way: good, Interface: strings.Repeat("e", 65)}, false},
		{record.Path{Way: good, Others: []record.Way{{Address: "10.1.0.3", Rate: -1}}}, false},
		{record.Path{Way: good, Others: make([]record.Way, 17)}, false},
	} {
		text, err := json.Marshal(message{Rank: 1, Links: &record.Links{Rank: 1, Links: []record.Link{{Path: &test.path}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := parse(1, text); ok != test.ok {
			t.Errorf("%s: accepted %t, want %t", text, ok, test.ok)
		}
	}
}

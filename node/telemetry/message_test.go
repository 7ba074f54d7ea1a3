package telemetry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
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

// large returns the events of worker 0 of n in which all numbers are large, and every other worker is named.
func large(n int) (links *record.Links, all []record.Event) {
	const many = 1 << 40
	links = &record.Links{Round: many, Rounds: many, Time: 1 << 60}
	status := &record.Status{State: record.Waiting, Detail: strings.Repeat("<", 1<<15)}
	bytes := record.Bytes{Payload: 1 << 60, Stream: 1 << 60, Wire: 1 << 60}
	for peer := 1; peer < n; peer++ {
		links.Links = append(links.Links, record.Link{Peer: peer, Last: many + peer%7, Alone: 1 << 58, Lost: many,
			Limit: 1.234567890123e17, Sent: bytes, Received: bytes})
		status.Missing = append(status.Missing, peer)
	}
	return links, []record.Event{
		{Step: &record.Step{Round: many, Time: 1 << 60, Sent: bytes, Received: bytes}},
		{Final: &record.Final{Rounds: many, Digest: strings.Repeat("ab", 32), Data: &record.Rows{Train: many}}},
		{Links: links}, {Status: status},
	}
}

// A worker with thousands of neighbours says less about them, but it is heard: the account names those for which it has
// waited most, and counts the others.
func TestAWorkerWithManyNeighboursIsHeard(t *testing.T) {
	const n = handshake.MaxWorkers
	k := newKnown(handshake.Members{IDs: make([]peer.ID, n)}, 1<<63)
	links, all := large(n)
	for _, e := range all {
		k.post(e)
	}
	text, err := k.next()
	if err != nil || len(text) > maxMessage {
		t.Fatalf("a message of %d bytes (%v), at most %d are sent", len(text), err, maxMessage)
	}
	heard, ok := parse(0, record.Limits{Peers: n, Rounds: links.Round}, text)
	if !ok {
		t.Fatal("the other workers refuse the message")
	}
	rest, last, want := heard.Links.Rest, 0, 0
	for _, link := range links.Links {
		want += link.Last
	}
	for _, link := range heard.Links.Links {
		if last += link.Last; link.Peer%7 != 6 {
			t.Errorf("worker %d is listed in place of one for which the worker waited more", link.Peer)
		}
	}
	if len(heard.Links.Links)+rest.Edges != n-1 || last+rest.Last != want || rest.Lost == 0 || rest.Alone == 0 {
		t.Errorf("%d edges and a rest of %+v, want %d", len(heard.Links.Links), rest, n-1)
	}
	if s := heard.Status; len(s.Missing)+s.More != n-1 || s.Detail == "" || heard.Final == nil || heard.Step == nil {
		t.Errorf("status %+v, result %v, step %v", s, heard.Final, heard.Step)
	}
}

// Workers do not use news that no worker of the run can have: it would spoil their records and summaries.
func TestImpossibleNewsIsRefused(t *testing.T) {
	digest := strings.Repeat("0f", 32)
	for name, m := range map[string]message{
		"a round after the last":      {Step: &record.Step{Rank: 1, Round: 10}},
		"a negative round":            {Step: &record.Step{Rank: 1, Round: -1}},
		"a rank that there is not":    {Status: &record.Status{Rank: 1, Missing: []int{3}}},
		"an edge to nobody":           {Links: &record.Links{Rank: 1, Links: []record.Link{{Peer: -2}}}},
		"an account after the run":    {Links: &record.Links{Rank: 1, Round: 10}},
		"a result without a digest":   {Final: &record.Final{Rank: 1, Rounds: 9}},
		"a digest of another length":  {Final: &record.Final{Rank: 1, Rounds: 9, Digest: digest[2:]}},
		"a digest that is not hex":    {Final: &record.Final{Rank: 1, Rounds: 9, Digest: "x" + digest[1:]}},
		"a result of too many rounds": {Final: &record.Final{Rank: 1, Rounds: 10, Digest: digest}},
		"the words of another":        {Final: &record.Final{Rank: 2, Rounds: 9, Digest: digest}},
	} {
		m.Rank = 1
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := parse(1, record.Limits{Peers: 3, Rounds: 9}, text); ok {
			t.Errorf("%s is taken: %s", name, text)
		}
	}
	text, err := json.Marshal(message{Rank: 1, Final: &record.Final{Rank: 1, Rounds: 9, Digest: digest}})
	if _, ok := parse(1, record.Limits{Peers: 3, Rounds: 9}, text); err != nil || !ok {
		t.Errorf("an honest result is refused: %s, %v", text, err)
	}
}

// Any message describes its sender only, and can be noted.
func FuzzNews(f *testing.F) {
	for _, b := range []message{
		{Rank: 1, Seq: 3, Step: &record.Step{Rank: 1, Round: 4}},
		{Rank: 1, Seq: 4, Status: &record.Status{Rank: 1, State: record.Waiting, Missing: []int{0}}},
		{Rank: 1, Seq: 5, Final: &record.Final{Rank: 1, Rounds: 9, Digest: strings.Repeat("ab", 32)}, HasAll: true},
		{Rank: 2, Seq: 5, Final: &record.Final{Rank: 1}},
	} {
		text, err := json.Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		news, ok := parse(1, record.Limits{Peers: 3, Rounds: 9}, text)
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
		over string // the name that users see; empty for a path that is refused
	}{
		{record.Path{Way: good, Interface: "eth0", Others: []record.Way{good}}, "eth0"},
		{record.Path{Way: good, Interface: "\x1b[2J"}, "?[2J"},
		{record.Path{Way: good, Interface: strings.Repeat("e", 63) + "é"}, strings.Repeat("e", 63)},
		{record.Path{Way: record.Way{Address: "\x1b[2J"}}, ""},
		{record.Path{Way: record.Way{Address: "fe80::1%\x1b[2J"}}, ""},
		{record.Path{Way: good, Others: []record.Way{{Address: "10.1.0.3", Rate: -1}}}, ""},
		{record.Path{Way: good, Others: make([]record.Way, 17)}, ""},
	} {
		text, err := json.Marshal(message{Rank: 1, Links: &record.Links{Rank: 1, Links: []record.Link{{Path: &test.path}}}})
		if err != nil {
			t.Fatal(err)
		}
		m, ok := parse(1, record.Limits{Peers: 2, Rounds: 9}, text)
		if ok != (test.over != "") || ok && m.Links.Links[0].Path.Interface != test.over {
			t.Errorf("%s: accepted %t and read %+v, want the interface %q", text, ok, m.Links, test.over)
		}
	}
}

// All ways to a few neighbours have room in a message, whatever the names and figures.
func TestAWorkerWithSeveralNetworksIsHeard(t *testing.T) {
	k := newKnown(handshake.Members{IDs: make([]peer.ID, 64)}, 1<<63)
	way := record.Way{Address: "2001:db8:1234:5678:9abc:def0:1234:5678", Rate: 1.234567890123e10, RTT: 1 << 40, Gone: true}
	for edges := range 64 {
		links, all := large(1 + edges)
		for i := range links.Links {
			links.Links[i].Path = &record.Path{Way: way, Others: slices.Repeat([]record.Way{way}, 15),
				Interface: strings.Repeat("e", 15), Measuring: 1 << 50}
		}
		for _, e := range all {
			k.post(e)
		}
		text, err := k.next()
		if err != nil || len(text) > maxMessage {
			t.Fatalf("%d edges: a message of %d bytes (%v), at most %d are sent", edges, len(text), err, maxMessage)
		}
		if m, ok := parse(0, record.Limits{Peers: 64, Rounds: links.Round}, text); !ok {
			t.Errorf("%d edges: the message is refused", edges)
		} else if got := m.Links.Links; edges == 4 && len(got[0].Path.Others) == 0 {
			t.Errorf("%d edges: the path %+v lacks the other ways", edges, got[0].Path)
		}
	}
}

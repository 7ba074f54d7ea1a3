package link

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"gossiptrainer/node/socket"
)

// at returns an address of a neighbour.
func at(text string) netip.Addr { return netip.MustParseAddr(text) }

const ms = time.Millisecond

func TestTheFastestWayIsTaken(t *testing.T) {
	slow := way{ip: at("10.1.0.2"), speed: socket.Speed{RTT: ms, Rate: 1e7}}
	fast := way{ip: at("10.2.0.2"), speed: socket.Speed{RTT: ms, Rate: 1e9}}
	near := way{ip: at("10.3.0.2"), speed: socket.Speed{RTT: ms, Rate: 1.1e9}}
	far := way{ip: at("10.4.0.2"), speed: socket.Speed{RTT: 50 * ms, Rate: 1e10}}
	never := way{ip: at("172.17.0.1")}
	lost := fast
	lost.gone = true
	for _, test := range []struct {
		name  string
		ways  []way
		now   netip.Addr
		bytes int
		want  string // "": none
	}{
		{"no way", nil, slow.ip, 1 << 20, ""},
		{"a bridge that never answered", []way{never}, slow.ip, 1 << 20, ""},
		{"one way", []way{slow, never}, netip.Addr{}, 1 << 20, "10.1.0.2"},
		{"a slow and a fast one", []way{slow, fast, never}, slow.ip, 1 << 20, "10.2.0.2"},
		{"a fast and a slow one", []way{never, fast, slow}, fast.ip, 1 << 20, "10.2.0.2"},
		{"a fast one that does not answer", []way{slow, lost}, fast.ip, 1 << 20, "10.1.0.2"},
		{"the one in use is nearly as good", []way{near, fast}, fast.ip, 1 << 20, "10.2.0.2"},
		{"neither is in use", []way{fast, near}, netip.Addr{}, 1 << 20, "10.3.0.2"},
		{"a long way for short messages", []way{fast, far}, fast.ip, 1 << 10, "10.2.0.2"},
		{"a long way for long messages", []way{fast, far}, fast.ip, 1 << 30, "10.4.0.2"},
	} {
		got, ok := fastest(test.ways, test.now, test.bytes)
		if ok != (test.want != "") || ok && got.ip != at(test.want) {
			t.Errorf("%s: %v, %t, want %q", test.name, got.ip, ok, test.want)
		}
	}
}

func TestALinkWaitsOnlyForWaysThatMayBeBetter(t *testing.T) {
	began := time.Now()
	after := func(d time.Duration) time.Time { return began.Add(d) }
	fast := trial{ip: at("10.2.0.2"), probing: began, took: 4 * ms, over: true, speed: socket.Speed{RTT: ms, Rate: 1e9}}
	slow := trial{ip: at("10.1.0.2"), probing: began, took: 9 * ms, over: true, speed: socket.Speed{RTT: ms, Rate: 1e7}}
	failed := trial{ip: at("10.3.0.2"), over: true, err: errors.New("refused")}
	probing := trial{ip: at("10.4.0.2"), probing: after(ms)}
	dialled := trial{ip: at("10.5.0.2")}
	doubted := trial{ip: at("10.5.0.2"), doubted: true}
	for _, test := range []struct {
		name   string
		trials []trial
		now    time.Duration
		won    int
		wait   time.Duration
	}{
		{"all are over", []trial{slow, fast, failed}, 9 * ms, 1, 0},
		{"none answers", []trial{failed}, 9 * ms, -1, 0},
		{"one may still be better", []trial{fast, probing}, 9 * ms, 0, ms + 2*fast.took + slack - 9*ms},
		{"one is certainly slower", []trial{fast, probing}, 40 * ms, 0, 0},
		{"the first one is measured", []trial{probing, failed}, 9 * ms, -1, dialWay - 8*ms},
		{"one does not answer", []trial{slow, dialled}, 9 * ms, 0, unanswered - 9*ms},
		{"it has had its time", []trial{slow, dialled}, unanswered, 0, 0},
		{"it did not answer before", []trial{slow, doubted}, 9 * ms, 0, 0},
		{"there is no other", []trial{failed, doubted}, 9 * ms, -1, unanswered - 9*ms},
	} {
		won, wait := judge(test.trials, began, after(test.now), 1<<20)
		if won != test.won || max(0, wait) != test.wait {
			t.Errorf("%s: trial %d, wait for %v, want %d and %v", test.name, won, wait, test.won, test.wait)
		}
	}
}

// The memory of an edge is bounded, and shows which ways answer.
func TestAnEdgeRemembersItsWays(t *testing.T) {
	var w ways
	fast, slow := socket.Speed{RTT: ms, Rate: 1e9}, socket.Speed{RTT: ms, Rate: 1e7}
	w.note(at("10.1.0.2"), slow, true, 100)
	w.note(at("10.2.0.2"), fast, true, 200)
	w.note(at("172.17.0.1"), socket.Speed{}, false, 0)
	p := w.path(at("10.2.0.2"))
	if p.Way.Address != "10.2.0.2" || p.Way.Rate != 1e9 || p.Measuring != 300 || len(p.Others) != 1 ||
		p.Others[0].Address != "10.1.0.2" || p.Others[0].Gone {
		t.Errorf("path %+v, want the fast way with the slow one beside it", p)
	}
	w.note(at("10.2.0.2"), socket.Speed{}, false, 0)
	p = w.path(at("10.1.0.2"))
	if p.Way.Address != "10.1.0.2" || len(p.Others) != 1 || !p.Others[0].Gone || p.Others[0].Rate != 1e9 {
		t.Errorf("path %+v, want the slow way, and a fast one that does not answer", p)
	}
	if best, ok := w.best(at("10.1.0.2"), 1<<20); !ok || best.ip != at("10.1.0.2") {
		t.Errorf("best %+v, want the way that answers", best)
	}
	for i := range 100 {
		w.note(netip.AddrFrom4([4]byte{10, 9, 0, byte(i)}), slow, true, 1)
	}
	if len(w.known) > mostKnown {
		t.Errorf("%d ways are remembered, want at most %d", len(w.known), mostKnown)
	}
}

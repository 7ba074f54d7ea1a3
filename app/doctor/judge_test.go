package doctor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/doctor/meeting"
	"gossiptrainer/app/session"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// whole is a packet of full length in both directions.
var whole = meeting.Hearing{Multicast: true, Datagram: 1500}

// healthy returns a machine that was met, with whom all is well.
func healthy(rank int, host string) meeting.Other {
	return meeting.Other{ID: "12D3KooWhealthy" + host, Rank: rank, Met: true, Heard: whole, HearsUs: whole,
		Out: meeting.Open, In: meeting.Open,
		Facts:   meeting.Facts{Host: host, Version: "v1", Commit: "abc", MTU: 1500, Sections: sections("1")},
		Figures: meeting.Figures{Latency: time.Millisecond, RateOut: 1e9, RateIn: 9e8}}
}

func sections(seed string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"seed": json.RawMessage(seed)}
}

// outcome is a meeting with one machine in which one thing is changed.
func outcome(change func(*meeting.Other)) *meeting.Result {
	o := healthy(1, "beta")
	change(&o)
	return &meeting.Result{Datagrams: true, Others: []meeting.Other{o, healthy(2, "gamma")}}
}

var mine = meeting.Facts{Version: "v1", Commit: "abc", MTU: 1500, Sections: sections("1")}

func refused(why handshake.Reason, detail string) func(*meeting.Other) {
	return func(o *meeting.Other) {
		o.Met, o.Facts, o.Figures = false, meeting.Facts{}, meeting.Figures{}
		o.Err = &handshake.UnprovenError{Reason: why, Detail: detail}
	}
}

// one returns the complaint among rows, or the last row.
func one(rows []Row) Row {
	for _, r := range rows {
		if r.Verdict != OK {
			return r
		}
	}
	if len(rows) == 0 {
		return Row{Verdict: OK}
	}
	return rows[len(rows)-1]
}

func TestTheTwoDirections(t *testing.T) {
	firewall := func(change func(*meeting.Other)) Row { return one(judgeFirewall(outcome(change))) }
	expect(t, firewall(func(*meeting.Other) {}), OK, "both directions")
	expect(t, firewall(func(o *meeting.Other) { o.In = meeting.Silent }), Broken,
		"worker 1 on beta cannot connect to this machine, which", "on this machine, let TCP in")
	expect(t, firewall(func(o *meeting.Other) { o.Out = meeting.Silent }), Broken,
		"this machine cannot connect to worker 1 on beta, which", "on that machine, let TCP in")
	expect(t, firewall(func(o *meeting.Other) { o.In = meeting.Refused }), Broken, "worker 1 on beta has an address",
		"under peers:")
	expect(t, firewall(func(o *meeting.Other) { o.Out = meeting.Refused }), Broken, "address of worker 1", "under peers:")
	cut := func(heard, hearsUs meeting.Hearing) Row {
		return firewall(func(o *meeting.Other) {
			o.Met, o.Out, o.In, o.Heard, o.HearsUs = false, meeting.Silent, meeting.Untested, heard, hearsUs
		})
	}
	none, spoken := meeting.Hearing{}, meeting.Hearing{Multicast: true}
	expect(t, cut(whole, none), Broken, "arrive here, and those from here do not arrive there")
	expect(t, cut(whole, whole), Broken, "datagrams pass", "TCP")
	expect(t, cut(spoken, none), Broken, "nothing that it sends only to this machine")
	expect(t, cut(none, none), OK) // nothing is known: the row of the peers says that there is no answer
}

func TestLongPackets(t *testing.T) {
	packets := func(change func(*meeting.Other)) Row { return one(judgePackets(outcome(change), 1500)) }
	short := meeting.Hearing{Datagram: 142}
	expect(t, packets(func(*meeting.Other) {}), OK, "1500 bytes pass")
	expect(t, packets(func(o *meeting.Other) { o.Heard, o.HearsUs = short, short }), Broken, "to and from worker 1", "mtu")
	expect(t, packets(func(o *meeting.Other) { o.Heard = short }), Broken, "from worker 1")
	expect(t, packets(func(o *meeting.Other) { o.HearsUs = short }), Broken, "to worker 1")
	expect(t, packets(func(o *meeting.Other) { o.Heard, o.HearsUs = meeting.Hearing{}, meeting.Hearing{} }), OK)
	expect(t, packets(func(o *meeting.Other) { o.Facts.MTU = 9000 }), Look, "9000 on worker 1")
	silent := outcome(func(o *meeting.Other) {
		o.Met, o.Heard, o.HearsUs, o.Err = false, meeting.Hearing{}, meeting.Hearing{}, context.DeadlineExceeded
	})
	silent.Datagrams = false
	expect(t, one(judgePackets(silent, 1500)), Broken, "long packets seem to be lost")
}

func TestVersions(t *testing.T) {
	versions := func(change func(*meeting.Other)) Row { return judgeVersions(outcome(change), mine, Broken) }
	expect(t, versions(func(*meeting.Other) {}), OK, "v1")
	expect(t, versions(func(o *meeting.Other) { o.Facts.Version = "v2" }), Look, "worker 1 on beta has v2", "same version")
	expect(t, versions(func(o *meeting.Other) { o.Facts.Commit = "def" }), Look, "v1 def")
	expect(t, versions(refused(handshake.Protocol, "another protocol version: theirs is 5, ours 4")), Broken,
		"worker 1 speaks another protocol version", "same version")
	claim := outcome(func(o *meeting.Other) {
		o.Facts, o.Err = meeting.Facts{}, &handshake.UnprovenError{Reason: handshake.Protocol, Remote: true}
	})
	expect(t, judgeVersions(claim, mine, Broken), OK) // the claim of a stranger
	if row := judgeVersions(&meeting.Result{}, mine, Broken); row.Check != "" {
		t.Errorf("%+v without another machine", row)
	}
}

func TestSettingsThatDiffer(t *testing.T) {
	settings := func(change func(*meeting.Other)) Row { return judgeSettings(outcome(change), mine, Look) }
	expect(t, settings(func(*meeting.Other) {}), OK)
	expect(t, settings(func(o *meeting.Other) { o.Facts.Sections = sections("2") }), Broken,
		"seed is 1 here and 2 on worker 1 on beta", "same run file")
	expect(t, settings(func(o *meeting.Other) { o.Facts.Sections = sections(`"\u001b[2J"`) }), Broken, "seed")
	expect(t, settings(refused(handshake.OtherRun, "run differs")), Look, "run differs")
	many := func(o *meeting.Other) {
		o.Facts.Sections = map[string]json.RawMessage{}
		for _, key := range "abcdefgh" {
			o.Facts.Sections[string(key)] = []byte("1")
		}
	}
	expect(t, settings(many), Broken, "and 4 more")
}

func TestSecretsOfOthers(t *testing.T) {
	differs := outcome(refused(handshake.OtherSecret, "join secret differs"))
	expect(t, judgeSecrets(differs, Broken), Broken, "worker 1", "mode 0600")
	if row := judgeSecrets(outcome(func(*meeting.Other) {}), Broken); row.Check != "" {
		t.Errorf("%+v", row)
	}
}

// A machine without the secret is a risk. If machines are missing, it is the likely cause.
func TestAStrangerBreaksNothing(t *testing.T) {
	p := of(t, true)
	if got := p.strange(outcome(func(*meeting.Other) {})); got != Look {
		t.Errorf("all were met: %s", got)
	}
	if got := p.strange(outcome(refused(handshake.OtherSecret, "join secret differs"))); got != Broken {
		t.Errorf("one is missing: %s", got)
	}
}

func TestTwoMachinesWithOneKey(t *testing.T) {
	key := ownKey{"home/peer.key", "12D3own"}
	same := outcome(func(o *meeting.Other) { o.Facts.Identity = key.id })
	expect(t, judgeTwins(same, key, Look), Broken, "the same identity on worker 1 on beta", "move it away", key.file)
	seen := &meeting.Result{Twin: &socket.TwinError{At: "/ip4/10.0.0.2/tcp/1"}}
	expect(t, judgeTwins(seen, key, Look), Look, "10.0.0.2", "home/peer.key")
	if row := judgeTwins(outcome(func(*meeting.Other) {}), ownKey{}, Look); row.Check != "" {
		t.Errorf("%+v", row)
	}
}

func TestClocks(t *testing.T) {
	clocks := func(quic bool, off ...time.Duration) Row {
		r := &meeting.Result{}
		for i, d := range off {
			o := healthy(i, "m")
			o.Offset = d
			r.Others = append(r.Others, o)
		}
		return judgeClocks(r, quic)
	}
	const day = 24 * time.Hour
	expect(t, clocks(false, 0, time.Second), OK)
	expect(t, clocks(false, day), Look, "24h0m0s ahead of this one", "timedatectl")
	expect(t, clocks(false, -day, 0), Look, "24h0m0s behind this one")
	expect(t, clocks(false, day, day, 0), Look, "this one seems to be wrong")
	if row := clocks(false, day, 0, 0); strings.Contains(row.Seen, "seems to be wrong") {
		t.Errorf("%+v: one of three differs, and this clock is blamed", row)
	}
	expect(t, clocks(true, day), Broken, "certificates")
	if row := clocks(false); row.Check != "" {
		t.Errorf("%+v without another machine", row)
	}
}

func TestLinks(t *testing.T) {
	expect(t, judgeLinks(outcome(func(*meeting.Other) {})), OK, "900 Mbit/s to 1 Gbit/s")
	expect(t, judgeLinks(outcome(func(o *meeting.Other) { o.RateIn = 9.4e7 })), Look, "worker 1 on beta: 94 Mbit/s",
		"switch port")
	if row := judgeLinks(&meeting.Result{}); row.Check != "" {
		t.Errorf("%+v without a measurement", row)
	}
}

// of returns a subject with a run of three.
func of(t *testing.T, pairs bool, set ...string) *subject {
	t.Helper()
	p := &subject{Request: Request{Pairs: pairs, Wait: time.Second}, loaded: loaded(t, append(set, "topology.size=3")...)}
	var err error
	if p.run, err = session.Assemble(p.loaded); err != nil {
		t.Fatal(err)
	}
	return p
}

const withAddresses = "peers=[{id: 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN, addrs: " +
	"[/ip4/10.0.0.1/tcp/1]}, " +
	"{id: 12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp, addrs: [/ip4/10.0.0.2/tcp/1]}, " +
	"{id: 12D3KooWHHzSeKaY8xuZVzkLbKFfvNgPPeKhFBGrMbNzbm5akpqu, addrs: [/ip4/10.0.0.3/tcp/1]}]"

func TestMulticastBetweenMachines(t *testing.T) {
	deaf := outcome(func(o *meeting.Other) { o.Heard.Multicast = false })
	unheard := outcome(func(o *meeting.Other) { o.HearsUs.Multicast = false })
	found, listed := of(t, false), of(t, false, withAddresses)
	expect(t, found.judgeHearing(outcome(func(*meeting.Other) {})), OK, "2 of 2")
	expect(t, found.judgeHearing(deaf), Broken, "multicast of worker 1 on beta does not arrive here", "5353", "peers:")
	expect(t, found.judgeHearing(unheard), Broken, "multicast from here does not arrive at worker 1")
	expect(t, listed.judgeHearing(deaf), OK, "does not need it")
	expect(t, found.judgeHearing(&meeting.Result{}), Look, "no other machine", "5353")
	expect(t, of(t, true).judgeHearing(&meeting.Result{}), Broken)
	if row := listed.judgeHearing(&meeting.Result{}); row.Check != "" {
		t.Errorf("%+v, though no multicast is needed", row)
	}
}

func TestPeersThatAreMissing(t *testing.T) {
	p := of(t, true)
	expect(t, p.judgePeers(outcome(func(*meeting.Other) {})), OK, "2 of 2", "worker 1 on beta, worker 2 on gamma")
	expect(t, p.judgePeers(outcome(refused(handshake.OtherSecret, "join secret differs"))), Broken,
		"1 of 2 other machines met: worker 2 on gamma; worker 1: join secret differs")
	gone := func(o *meeting.Other) { o.Met, o.Err, o.Out = false, nil, meeting.Silent }
	expect(t, p.judgePeers(outcome(gone)), Broken, "worker 1 on beta gives no answer", "--wait")
	expect(t, of(t, false).judgePeers(outcome(gone)), Look)
	expect(t, p.judgePeers(&meeting.Result{}), Broken, "2 not heard of")
	busy := func(o *meeting.Other) { o.Met, o.Err = false, errNoDoctor }
	expect(t, p.judgePeers(outcome(busy)), Broken, "a peer runs there, and no doctor")
}

type noDoctor struct{}

func (noDoctor) Error() string { return "protocols not supported: [/x]" }

var errNoDoctor = noDoctor{}

func TestPairsAreListed(t *testing.T) {
	r := outcome(func(o *meeting.Other) { o.Rank, o.Offset = handshake.Unranked, time.Second })
	pairs := pairsOf(r)
	if len(pairs) != 2 || pairs[0].Rank != nil || *pairs[1].Rank != 2 || pairs[0].OffsetNS != 1e9 {
		t.Fatalf("%+v", pairs)
	}
	var text strings.Builder
	if err := writePairs(&text, pairs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"beta (", "worker 2 on gamma", "1ms", "1 Gbit/s", "900 Mbit/s", "+1.000s", "open"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

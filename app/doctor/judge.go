package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/doctor/meeting"
	"gossiptrainer/internal/settings"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// nameOf names a machine by its worker, its host name and the end of its id, as far as they are known.
func nameOf(o meeting.Other) string {
	host := o.Facts.Host
	if no, ok := errors.AsType[*handshake.RefusedError](o.Err); ok && host == "" {
		host = no.Host
	}
	switch {
	case o.Rank >= 0 && host != "":
		return fmt.Sprintf("worker %d on %s", o.Rank, host)
	case o.Rank >= 0:
		return fmt.Sprintf("worker %d", o.Rank)
	}
	return handshake.MachineName(host, o.ID[max(0, len(o.ID)-8):])
}

// openPort is the fix for a firewall.
const openPort = "let TCP in at the port of the links (node.listen fixes it): ufw allow 4001/tcp, or " +
	"firewall-cmd --add-port=4001/tcp, and the same in rules of a cloud or switch"

// judgeFirewall judges the two directions between this machine and each other.
func judgeFirewall(r *meeting.Result) []Row {
	var rows []Row
	tested := 0
	for _, o := range r.Others {
		seen, fix := obstacle(o)
		if o.Out != meeting.Untested {
			tested++
		}
		if seen != "" {
			rows = append(rows, complaint("firewall", Broken, seen, fix))
		}
	}
	if len(rows) == 0 && tested > 0 {
		return []Row{ok("firewall", "connections open in both directions, as far as other machines were met")}
	}
	return rows
}

// obstacle says which direction to a machine is cut, and the fix; "" if none is, or if nothing is known.
func obstacle(o meeting.Other) (seen, fix string) {
	const rejects = "correct its address under peers: in the run files, where nothing listens; if a firewall rejects, "
	who := nameOf(o)
	switch {
	case o.Out == meeting.Open && o.In == meeting.Refused:
		return fmt.Sprintf("%s has an address of this machine at which connections are refused", who), rejects + openPort
	case o.Out == meeting.Refused && o.In == meeting.Open:
		return fmt.Sprintf("connections to the address of %s are refused, and it connects to this machine", who),
			rejects + openPort
	case o.Out == meeting.Open && o.In == meeting.Silent:
		return fmt.Sprintf("%s cannot connect to this machine, which connects to it", who),
			"on this machine, " + openPort
	case o.Out == meeting.Silent && o.In == meeting.Open:
		return fmt.Sprintf("this machine cannot connect to %s, which connects to this machine", who),
			"on that machine, " + openPort
	case o.Out != meeting.Silent || o.Met:
		return "", ""
	case o.Heard.Datagram > 0 && o.HearsUs.Datagram == 0:
		return fmt.Sprintf("packets from %s arrive here, and those from here do not arrive there", who),
			"look for what drops packets to it: a firewall there for incoming packets, one here for outgoing ones, a wrong " +
				"entry of ip neigh, a route"
	case o.Heard.Datagram > 0:
		return fmt.Sprintf("datagrams pass to and from %s, and TCP connections do not open", who), "on both machines, " +
			openPort
	case o.Heard.Multicast:
		return fmt.Sprintf("the multicast of %s arrives here, and nothing that it sends only to this machine", who),
			"look for what drops packets from it: a firewall here for incoming packets, one there for outgoing ones, " +
				"isolation of clients in Wi-Fi, a wrong entry of ip neigh there; then, on both machines, " + openPort
	}
	return "", ""
}

// judgePackets looks for packets of full length that are lost, and for networks of mixed MTU.
func judgePackets(r *meeting.Result, mtu int) []Row {
	const fix = "set one MTU on all interfaces, bridges and switches on the way (ip link set NAME mtu 1500), or a " +
		"smaller one on both machines: ping -M do -s 1472 ADDRESS tests it"
	var rows []Row
	say := func(format string, args ...any) {
		rows = append(rows, complaint("packets", Broken, fmt.Sprintf(format, args...), fix))
	}
	full := 0
	for _, o := range r.Others {
		long := func(h meeting.Hearing) bool { return h.Datagram >= ethernet }
		lost := func(h meeting.Hearing) bool { return h.Datagram > 0 && !long(h) }
		switch {
		case lost(o.Heard) && lost(o.HearsUs):
			say("packets of %d bytes are lost to and from %s, and short ones arrive: the MTU on the way is smaller", ethernet,
				nameOf(o))
		case lost(o.Heard):
			say("packets of %d bytes from %s are lost, and short ones arrive: the MTU on the way is smaller", ethernet,
				nameOf(o))
		case lost(o.HearsUs):
			say("packets of %d bytes to %s are lost, and short ones arrive: the MTU on the way is smaller", ethernet, nameOf(o))
		case !r.Datagrams && !o.Met && o.Out == meeting.Open && errors.Is(o.Err, context.DeadlineExceeded):
			say("%s takes connections, and long packets seem to be lost: the handshake does not end", nameOf(o))
		case long(o.Heard) && long(o.HearsUs):
			full++
		}
		if o.Met && o.Facts.MTU > 0 && mtu > 0 && o.Facts.MTU != mtu {
			rows = append(rows, complaint("packets", Look,
				fmt.Sprintf("the least MTU here is %d, and %d on %s", mtu, o.Facts.MTU,
					nameOf(o)), "on one network all interfaces need the same: ip link set NAME mtu 1500"))
		}
	}
	if len(rows) == 0 && full > 0 {
		return []Row{ok("packets", "%d bytes pass in both directions", ethernet)}
	}
	return rows
}

// unproven returns what this machine has found wrong with one that has not proven the secret.
func unproven(o meeting.Other, why handshake.Reason) (detail string, ok bool) {
	no, ok := errors.AsType[*handshake.UnprovenError](o.Err)
	if !ok || no.Remote || no.Reason != why {
		return "", false
	}
	return no.Detail, true
}

// judgeTwins looks for machines with the identity of this one.
func judgeTwins(r *meeting.Result, mine ownKey, strange Verdict) Row {
	var copies []string
	for _, o := range r.Others {
		if mine.id != "" && o.Facts.Identity == mine.id {
			copies = append(copies, nameOf(o))
		}
	}
	switch {
	case len(copies) > 0:
		return complaint("key", Broken, "the same identity on "+strings.Join(copies, ", "), socket.NewKey(mine.file))
	case r.Twin != nil:
		return complaint("key", strange, r.Twin.Error(), socket.NewKey(mine.file))
	}
	return Row{}
}

// judgeVersions compares the programs. strange is the verdict on machines that have not proven the secret.
func judgeVersions(r *meeting.Result, mine meeting.Facts, strange Verdict) Row {
	var protocol, other []string
	met := 0
	for _, o := range r.Others {
		detail, differs := unproven(o, handshake.Protocol)
		theirs := o.Facts
		switch {
		case differs:
			protocol = append(protocol, nameOf(o)+" speaks "+detail)
		case theirs.Version == "":
		case theirs.Version != mine.Version || theirs.Commit != mine.Commit:
			other = append(other, fmt.Sprintf("%s has %s %.12s", nameOf(o), theirs.Version, theirs.Commit))
		default:
			met++
		}
	}
	switch {
	case len(protocol) > 0:
		return complaint("versions", strange, strings.Join(append(protocol, other...), "; "), handshake.SameProgram)
	case len(other) > 0:
		return complaint("versions", Look, fmt.Sprintf("this machine has %s %.12s; %s", mine.Version, mine.Commit,
			strings.Join(other, "; ")), handshake.SameProgram)
	case met > 0:
		return ok("versions", "all machines met have %s", mine.Version)
	}
	return Row{}
}

// judgeSettings compares the settings that all machines must share. strange is the verdict on machines that have not
// proven the secret.
func judgeSettings(r *meeting.Result, mine meeting.Facts, strange Verdict) Row {
	const most = 5 // differences that a row names
	var differ, runs []string
	met := 0
	for _, o := range r.Others {
		if detail, differs := unproven(o, handshake.OtherRun); differs {
			runs = append(runs, nameOf(o)+": "+detail)
		}
		if len(o.Facts.Sections) == 0 {
			continue
		}
		met++
		for _, d := range settings.Differences(o.Facts.Sections, mine.Sections) {
			differ = append(differ, handshake.Printable(fmt.Sprintf("%.48s is %s here and %s on %s", d.Key, value(d.Now),
				value(d.Then), nameOf(o))))
		}
	}
	verdict := Broken
	if len(differ) == 0 {
		verdict = strange
	}
	if differ = append(runs, differ...); len(differ) > 0 {
		shown := differ[:min(most, len(differ))]
		if more := len(differ) - len(shown); more > 0 {
			shown = append(slices.Clone(shown), fmt.Sprintf("and %d more", more))
		}
		return complaint("settings", verdict, strings.Join(shown, "; "), "copy the same run file and data to all machines; "+
			"only node, data.dir, wire, limit, checkpoint and output may differ")
	}
	if met == 0 {
		return Row{}
	}
	return ok("settings", "all machines met have the same run file and data")
}

func value(text string) string {
	const widest = 48
	if text == "" {
		return "not set"
	}
	return text[:min(len(text), widest)]
}

// judgeSecrets looks for machines with another join secret. strange is the verdict on them.
func judgeSecrets(r *meeting.Result, strange Verdict) Row {
	var others []string
	for _, o := range r.Others {
		if _, differs := unproven(o, handshake.OtherSecret); differs {
			others = append(others, nameOf(o))
		}
	}
	if len(others) == 0 {
		return Row{}
	}
	return complaint("secret", strange, "another join secret on "+strings.Join(others, ", "), handshake.SameSecret)
}

// Differences of clocks.
const (
	mostOffset = 2 * time.Second
	// certified is how far clocks may differ over QUIC: certificates of libp2p begin an hour before their process.
	certified = time.Hour
)

// judgeClocks compares the clocks. If most machines differ from this one, this one is taken to be wrong.
func judgeClocks(r *meeting.Result, quic bool) Row {
	var off []string
	met, widest := 0, time.Duration(0)
	for _, o := range r.Others {
		if o.Latency == 0 {
			continue
		}
		met++
		apart := o.Offset.Abs()
		widest = max(widest, apart)
		if apart <= mostOffset {
			continue
		}
		way := "ahead of"
		if o.Offset < 0 {
			way = "behind"
		}
		off = append(off, fmt.Sprintf("the clock of %s is %v %s this one", nameOf(o), apart.Round(time.Second), way))
	}
	if met == 0 {
		return Row{}
	}
	if len(off) == 0 {
		return ok("clocks", "differ by %v at most", widest.Round(time.Millisecond))
	}
	text, verdict := strings.Join(off, "; "), Look
	if met > 1 && 2*len(off) > met {
		text += ": most others agree, so this one seems to be wrong"
	}
	if quic && widest > certified {
		text, verdict = text+"; over QUIC certificates are then not valid yet", Broken
	}
	return complaint("clocks", verdict, text+"; times in records and checkpoints do not fit together", setClock)
}

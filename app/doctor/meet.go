package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/app/doctor/meeting"
	"gossiptrainer/node"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// meet meets the doctors of the other machines, and judges the ways to them.
func (p *subject) meet(ctx context.Context) ([]Row, []Pair) {
	if p.run.N() < 2 {
		return nil, nil
	}
	roster := p.run.Config().Peers
	if !p.secret || len(roster) > 0 && p.links.Identity == nil {
		return []Row{complaint("peers", p.missing(), "the other machines were not asked: secret or key cannot be used",
			"follow the fixes above, then start again")}, nil
	}
	facts := meeting.Facts{
		Host: p.links.Host, Identity: p.mine.id, Version: p.Build.Version, Commit: p.Build.Commit,
		Platform: p.Build.Platform, MTU: leastOf(socket.Interfaces()), Sections: sectionsOf(p.links.Sections),
	}
	r, err := meeting.Hold(ctx, meeting.Config{Node: p.links, Facts: facts, Rates: p.Pairs, Wait: p.Wait, Now: now})
	if err != nil {
		return []Row{failure("peers", err, "correct node: and peers: in the run file")}, nil
	}
	rows := p.judge(r, facts)
	return rows, pairsOf(r)
}

// judge judges the result of a meeting.
func (p *subject) judge(r *meeting.Result, mine meeting.Facts) []Row {
	tried := p.links.Listen
	if taken, ok := errors.AsType[*socket.ListenError](r.Listen); ok {
		tried = taken.Addrs // those of the roster, where the run file has no others
	}
	strange := p.strange(r)
	rows := []Row{judgePort(r.Listen, tried, r.Addrs), p.judgePeers(r), judgeTwins(r, p.mine, strange)}
	rows = append(rows, judgeFirewall(r)...)
	rows = append(rows, judgePackets(r, mine.MTU)...)
	rows = append(rows, judgeVersions(r, mine, strange), judgeSettings(r, mine, strange), judgeSecrets(r, strange),
		p.judgeHearing(r),
		judgeClocks(r, p.links.Transport == node.QUIC))
	if p.Pairs {
		rows = append(rows, judgeLinks(r))
	}
	return rows
}

// strange is the verdict on what a machine says that has not proven the secret: a stranger may have said it, if all
// machines of the run were met.
func (p *subject) strange(r *meeting.Result) Verdict {
	met := 0
	for _, o := range r.Others {
		if o.Met {
			met++
		}
	}
	if met >= p.run.N()-1 {
		return Look
	}
	return Broken
}

func leastOf(all []socket.Interface) int {
	least := 0
	for _, i := range all {
		if least == 0 || i.MTU < least {
			least = i.MTU
		}
	}
	return least
}

func sectionsOf(all []node.Section) map[string]json.RawMessage {
	told := make(map[string]json.RawMessage)
	for _, s := range all {
		told[s.Name] = s.JSON
	}
	return told
}

// judgePeers says which machines were met, and why others were not.
func (p *subject) judgePeers(r *meeting.Result) Row {
	var met, not []string
	for _, o := range r.Others {
		switch {
		case o.Met:
			met = append(met, nameOf(o))
		case o.Err == nil && o.Out == meeting.Silent:
			not = append(not, nameOf(o)+" gives no answer")
		case o.Err == nil:
			not = append(not, nameOf(o)+" has not finished in time")
		default:
			not = append(not, nameOf(o)+": "+reason(o))
		}
	}
	text := fmt.Sprintf("%d of %d other machines met", len(met), p.run.N()-1)
	if len(met) > 0 {
		text += ": " + strings.Join(met, ", ")
	}
	if unknown := p.run.N() - 1 - len(r.Others); unknown > 0 {
		not = append(not, fmt.Sprintf("%d not heard of", unknown))
	}
	if len(not) == 0 {
		return ok("peers", "%s", text)
	}
	return complaint("peers", p.missing(), text+"; "+strings.Join(not, "; "), "start peer doctor with the same run file "+
		"on the machines that are missing, at the same time (--wait 2m leaves time to do so), and look at the rows below")
}

// reason says why a machine was not met.
func reason(o meeting.Other) string {
	if no, ok := errors.AsType[*handshake.RefusedError](o.Err); ok {
		return no.Detail
	}
	if no, ok := errors.AsType[*handshake.UnprovenError](o.Err); ok {
		return no.Detail
	}
	text := socket.Cause(o.Err)
	if strings.Contains(text, "protocols not supported") {
		return "a peer runs there, and no doctor: peers do not answer doctors"
	}
	return text
}

// judgeHearing judges multicast between machines.
func (p *subject) judgeHearing(r *meeting.Result) Row {
	const fix = "let " + mdns +
		" pass in all firewalls, and in switches and access points (IGMP snooping, isolation of " +
		"clients); " + listPeers
	var deaf []string
	heard := 0
	for _, o := range r.Others {
		switch {
		case o.Met && !o.Heard.Multicast:
			deaf = append(deaf, "the multicast of "+nameOf(o)+" does not arrive here")
		case o.Met && !o.HearsUs.Multicast:
			deaf = append(deaf, "multicast from here does not arrive at "+nameOf(o))
		}
		if o.Heard.Multicast {
			heard++
		}
	}
	switch {
	case len(deaf) > 0 && p.needsMulticast():
		return complaint("multicast", Broken, strings.Join(deaf, "; "), fix)
	case len(deaf) > 0:
		return ok("multicast", "%s; this run does not need it: the roster has all addresses", strings.Join(deaf, "; "))
	case heard == 0 && p.needsMulticast():
		return complaint("multicast", p.missing(), fmt.Sprintf("no other machine of this run was heard of in %v", p.Wait),
			"start the doctor on the others at the same time; if they do run, multicast is dropped on the way: "+fix)
	case heard == 0:
		return Row{}
	}
	return ok("multicast", "%d of %d other machines heard", heard, p.run.N()-1)
}

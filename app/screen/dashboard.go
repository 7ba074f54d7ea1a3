// Package screen shows a running run: a table on a terminal, a line per interval elsewhere. Its only input is a stream
// of record.Events, so that it serves a real run, a lab and a simulation alike.
//
// It makes no decisions, and a run does not depend on it.
//
// It writes to streams that may lead to a terminal: in ASCII if the locale is not UTF-8, and progress in place if the
// terminal understands escape codes. Signals and the end of the terminal end a command: the first one in order, the
// second one at once, as a command that takes too long.
package screen

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/record"
)

// A Run holds the constants of a run.
type Run struct {
	Name     string
	Method   string // configs.Method
	Topology string // for people: ring of 8
	Peers    int
	Rounds   int
	Here     int  // peers present from the start: all of a simulation
	From     int  // the first round of a resumed run; 0 for a new one
	Open     bool // members come and go: a row is there from the first event of its member to its end
}

// A Dashboard keeps the present state of every peer: a pure function of the events and of their times. Of more than
// mostRows peers it keeps an even choice.
type Dashboard struct {
	run     Run
	peers   []peer    // by number
	each    int       // one of each peers is kept
	notice  string    // of the run as a whole, before ranks are known
	here    int       // peers found before ranks are known
	started time.Time // of the first step heard
	average test      // of the average model, after those of the peers
}

// A peer is one row of the table.
type peer struct {
	record.Worker
	number  int       // rank, or id of a member
	since   time.Time // of the state
	test    test      // of its final model
	first   int       // rounds finished when the pace began to count
	in, out meter
	awaited string // the neighbour whose message most often comes last, and in which share of the rounds

	compute, wait, codec smooth
}

// NewDashboard returns the dashboard of a run that starts now.
func NewDashboard(run Run, now time.Time) *Dashboard {
	d := &Dashboard{run: run, here: run.Here, each: 1}
	if run.Open {
		return d
	}
	d.each = max(1, (run.Peers+mostRows-1)/mostRows)
	for rank := 0; rank < run.Peers; rank += d.each {
		d.peers = append(d.peers, d.empty(rank, now))
	}
	return d
}

// empty returns the row of a peer that has said nothing.
func (d *Dashboard) empty(number int, now time.Time) peer {
	return peer{Worker: record.Worker{State: record.Starting}, number: number, since: now, first: d.run.From, awaited: "-"}
}

// Add takes an event that came at time now. A status of a negative rank concerns the run as a whole. Other events of
// ranks outside the run are ignored.
func (d *Dashboard) Add(e record.Event, now time.Time) {
	rank := e.Rank()
	if d.run.Open && rank >= 0 {
		d.follow(e, now)
	}
	p := d.row(rank)
	switch {
	case p != nil:
		d.addTo(p, e, now)
	case e.Status == nil || rank >= 0:
	case e.Status.State == record.Testing && rank == record.Average:
		d.average.reach(e.Status.Share, now)
	default:
		d.notice, d.here = e.Status.Detail, max(e.Status.Here, d.run.Here)
	}
}

// addTo takes an event of a peer.
func (d *Dashboard) addTo(p *peer, e record.Event, now time.Time) {
	before := p.State
	switch {
	case e.Step != nil && e.Step.Round < p.Last.Round:
		return // late telemetry
	case e.Step != nil:
		d.addStep(p, *e.Step, now)
	case e.Status != nil && e.Status.State == record.Testing:
		p.test.reach(e.Status.Share, now)
	case e.Links != nil:
		p.awaited = awaited(e.Links)
	case e.Final != nil:
		p.test.reach(1, now)
	}
	if p.See(e); p.State != before {
		p.since = now
	}
	if e.Final != nil {
		p.Last.Round = e.Final.Rounds
	}
}

// awaited names the neighbour for which a peer waits most often, as in 2 84 %: its message is the last one in 84 % of
// the rounds. It is a dash where no round has waited.
func awaited(l *record.Links) string {
	most := record.Link{}
	for _, link := range l.Links {
		if link.Last > most.Last {
			most = link
		}
	}
	if most.Last == 0 || l.Rounds == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %3.0f %%", most.Peer, 100*float64(most.Last)/float64(l.Rounds))
}

// row returns the row of a peer, nil if it has none.
func (d *Dashboard) row(number int) *peer {
	if i, there := d.search(number); there {
		return &d.peers[i]
	}
	return nil
}

// all returns the number of peers, those without a row too.
func (d *Dashboard) all() int {
	if d.run.Open {
		return len(d.peers)
	}
	return d.run.Peers
}

// search returns the place of a peer among the rows.
func (d *Dashboard) search(id int) (at int, there bool) {
	return slices.BinarySearchFunc(d.peers, id, func(p peer, id int) int { return p.number - id })
}

// mostRows bounds the peers with a row.
const mostRows = 1 << 12

// follow makes and removes the rows of members that come and go, and takes the number of members.
func (d *Dashboard) follow(e record.Event, now time.Time) {
	i, there := d.search(e.Rank())
	ends := e.Status != nil && e.Status.State == record.Finished
	switch {
	case ends && there:
		d.peers = slices.Delete(d.peers, i, i+1)
	case !ends && !there && (e.Status != nil || e.Step != nil) && len(d.peers) < mostRows:
		d.peers = slices.Insert(d.peers, i, d.empty(e.Rank(), now))
	}
	if e.Status != nil && e.Status.Here > 0 {
		d.here = e.Status.Here
	}
}

func (d *Dashboard) addStep(p *peer, s record.Step, now time.Time) {
	if p.Last.Round == 0 {
		p.first = min(p.first, s.Round) // a peer may begin before the others: without its state
	}
	p.compute.add(s.Compute)
	p.wait.add(s.Wait)
	p.codec.add(s.Codec)
	p.out.add(s.Time, s.Sent.Wire)
	p.in.add(s.Time, s.Received.Wire)
	if d.started.IsZero() {
		d.started, p.first = now, s.Round
	}
}

// round returns the rounds that the peer has finished. Before its first step it returns the first round of the run.
func (d *Dashboard) round(p *peer) int {
	if p.Last.Round == 0 {
		return d.run.From
	}
	return p.Last.Round
}

// count returns the rounds that the present peers have finished, and their number.
func (d *Dashboard) count() (rounds, peers int) {
	for i := range d.peers {
		if p := &d.peers[i]; !p.Gone() {
			rounds += d.round(p)
			peers++
		}
	}
	return rounds, peers
}

// Round returns the rounds that every present peer has finished.
func (d *Dashboard) Round() int {
	least, any := math.MaxInt, false
	for i := range d.peers {
		if p := &d.peers[i]; !p.Gone() {
			least, any = min(least, d.round(p)), true
		}
	}
	if !any {
		return 0
	}
	return least
}

// Present returns the number of peers that have been found or heard, without lost ones. Where members come and go it is
// that of the newest view.
func (d *Dashboard) Present() int {
	if d.run.Open {
		return d.here
	}
	heard, gone := 0, 0
	for i := range d.peers {
		switch p := &d.peers[i]; {
		case p.Gone():
			gone++
		case p.State != record.Starting:
			heard++
		}
	}
	return max(min(heard*d.each, d.run.Peers), d.here-gone*d.each)
}

// Remaining returns the time for the rest of the run at the pace since its first step; false before the pace is known.
func (d *Dashboard) Remaining(now time.Time) (time.Duration, bool) {
	finished, peers := d.count()
	done := finished
	for i := range d.peers {
		if p := &d.peers[i]; !p.Gone() {
			done -= p.first
		}
	}
	if d.started.IsZero() || done <= 0 || d.run.Rounds == 0 {
		return 0, false
	}
	pace := float64(now.Sub(d.started)) / float64(done)
	return time.Duration(pace * float64(max(0, d.run.Rounds*peers-finished))), true
}

// Means are averages over the present peers that have finished a round. Loss is NaN where none of them has one. Out and
// In are in bits per second, NaN before they are known.
type Means struct {
	Loss, Out, In float64
	Gap           float64 // the largest, not the mean
	Peers         int     // number of averaged peers
}

// Means returns the averages of the last steps.
func (d *Dashboard) Means() Means {
	var m Means
	var steps []*record.Step
	for i := range d.peers {
		p := &d.peers[i]
		if p.Last.Round == 0 || p.Gone() {
			continue
		}
		m.Peers++
		steps = append(steps, &p.Last)
		m.Gap = max(m.Gap, p.Last.Gap)
		m.Out += p.out.rate()
		m.In += p.in.rate()
	}
	m.Loss = record.MeanLoss(steps)
	if n := float64(m.Peers); n > 0 {
		m.Out, m.In = m.Out/n, m.In/n
	}
	return m
}

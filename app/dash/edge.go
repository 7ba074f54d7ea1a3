package dash

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// An edge is an undirected link between two workers.
type edge struct {
	a, b   int     // a < b
	weight float64 // in W; under the policy reweight the last one that an end recorded
	ends   [2]end  // of a and b
	limit  float64 // bytes a second of each direction of an edge with a limit of its own; 0: none
}

// An end is one end of an edge, as its worker recorded or answered.
type end struct {
	off    bool         // switched off by the policy reweight
	hears  bool         // a member that has heard the other one
	silent bool         // a member that has not heard the other one for a while
	sent   int64        // bytes on the wire, over all processes of the worker; 0: unknown
	rate   float64      // bytes sent a second; NaN: unknown
	lost   int64        // connections that ended without a bye
	path   *record.Path // nil: unknown
	over   string       // address of the last path in the record

	account time.Duration // of the last account in the record
	asked   bool
	link    node.LinkStatus // as last answered
	at      time.Time       // of the answer
	past    int64           // bytes sent by earlier processes
}

// newEdge returns the edge between two workers.
func newEdge(i, j int, weight float64) *edge {
	return &edge{a: min(i, j), b: max(i, j), weight: weight,
		ends: [2]end{{rate: math.NaN()}, {rate: math.NaN()}}}
}

// record takes the account of a link in the record, at a time of the run.
func (e *end) record(l record.Link, now time.Duration) {
	if took := (now - e.account).Seconds(); !e.asked && e.sent > 0 && took > 0 {
		smooth(&e.rate, math.Max(0, float64(l.Sent.Wire-e.sent)/took))
	}
	e.account, e.sent, e.lost = now, max(e.sent, l.Sent.Wire), max(e.lost, l.Lost)
	if l.Path != nil {
		e.path, e.over = l.Path, l.Path.Way.Address
	}
}

// take notes the state of a link that the worker at one end answered.
func (e *end) take(link node.LinkStatus, now time.Time) {
	switch took := now.Sub(e.at).Seconds(); {
	case !e.asked || took <= 0:
		e.rate = math.NaN()
	case link.Sent.Wire < e.link.Sent.Wire: // a new process counts from zero
		e.past += e.link.Sent.Wire
		e.rate = 0
	default:
		smooth(&e.rate, float64(link.Sent.Wire-e.link.Sent.Wire)/took)
	}
	e.asked, e.link, e.at = true, link, now
	e.sent, e.lost = max(e.sent, e.past+link.Sent.Wire), max(e.lost, link.Lost)
	if link.Path != nil {
		e.path = link.Path
	}
}

// gone notes that the process of an end does not answer.
func (e *end) gone() {
	if e.asked {
		e.link.Up, e.rate = false, 0
	}
}

// The states of an edge.
const (
	edgeUp      = "up"
	edgeDown    = "down"
	edgeOff     = "off" // for good, under the policy reweight, or because an end is lost
	edgeUnknown = "unknown"
)

// An Edge is an edge as the page reads it. Rates are bytes a second.
type Edge struct {
	A         int    `json:"a"`
	B         int    `json:"b"`
	State     string `json:"state"`
	Weight    figure `json:"weight"`
	Bytes     count  `json:"bytes"` // of both directions
	Rate      figure `json:"rate"`
	Limit     figure `json:"limit"` // of each direction
	Load      figure `json:"load"`  // share of the limit that the busier direction uses
	Estimated bool   `json:"estimated"`
	Lost      count  `json:"lost"`
	Retries   count  `json:"retries"`
	Waited    bool   `json:"waited"` // an end waits for the other one
	Path      string `json:"path"`   // the way of the link, "" if it is unknown
}

// show returns the edge as the page reads it. Running says that the run goes on, and uplink is the limit of all that a
// worker sends, 0 for none.
func (e *edge) show(workers []*worker, degrees []int, uplink float64, running bool) Edge {
	ends := [2]*worker{workers[e.a], workers[e.b]}
	out := Edge{A: e.a, B: e.b, Weight: figureOf(e.weight), Rate: unknown(), Limit: unknown(), Load: unknown(),
		State: e.state(ends, running), Lost: uncounted, Retries: uncounted, Path: e.way()}
	out.Waited = running && (slices.Contains(waits(ends[0]), e.b) || slices.Contains(waits(ends[1]), e.a))
	rates := [2]float64{e.ends[0].rate, e.ends[1].rate}
	for i, w := range ends {
		share := max(1, degrees[[2]int{e.a, e.b}[i]])
		at := &e.ends[i]
		if at.sent > 0 || at.asked {
			out.Bytes += count(at.sent)
			out.Lost = max(0, out.Lost) + count(at.lost)
		} else {
			out.Bytes += count(w.Last.Sent.Wire / int64(share))
			out.Estimated = true
			rates[i] = w.rates.sent / float64(share)
		}
		if at.asked {
			out.Retries = max(0, out.Retries) + count(at.link.Retries)
		}
	}
	if !running {
		return out
	}
	out.Rate = figureOf(rates[0] + rates[1])
	e.load(&out, rates, ends, uplink)
	return out
}

// way describes the way of the link, by the end that knows more of it.
func (e *edge) way() string {
	best := e.ends[0].path
	if p := e.ends[1].path; best == nil || p != nil && p.Measuring > best.Measuring {
		best = p
	}
	if best == nil {
		return ""
	}
	return explain.Path(best)
}

// load compares the rates with the limit of the edge, or of the uplinks of its ends.
func (e *edge) load(out *Edge, rates [2]float64, ends [2]*worker, uplink float64) {
	limit := e.limit
	if limit == 0 {
		limit, rates = uplink, [2]float64{ends[0].rates.sent, ends[1].rates.sent}
	}
	if limit > 0 {
		out.Limit, out.Load = figureOf(limit), figureOf(math.Max(rates[0], rates[1])/limit)
	}
}

// state returns the state of the edge. Where no process tells of the link, it follows from the workers.
func (e *edge) state(ends [2]*worker, running bool) string {
	switch {
	case e.ends[0].off && e.ends[1].off, ends[0].State == record.Lost, ends[1].State == record.Lost:
		return edgeOff
	case !running:
		return edgeUnknown
	case e.ends[0].asked && !e.ends[0].link.Up, e.ends[1].asked && !e.ends[1].link.Up:
		return edgeDown
	case e.ends[0].silent, e.ends[1].silent, ends[0].State == record.Returning, ends[1].State == record.Returning:
		return edgeDown
	case ends[0].Last.Round > 0 && ends[1].Last.Round > 0, e.ends[0].asked, e.ends[0].hears, e.ends[1].hears:
		return edgeUp
	}
	return edgeUnknown
}

// waits returns the workers for which w waits.
func waits(w *worker) []int {
	if w.live.here != nil && *w.live.here {
		return w.live.answer.Waiting
	}
	return w.Missing
}

// byEnds orders edges.
func byEnds(x, y Edge) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) }

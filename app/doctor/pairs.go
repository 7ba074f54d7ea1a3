package doctor

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/doctor/meeting"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/stats"
	"gossiptrainer/node/handshake"
)

// A Pair has the measurements between this machine and another one. Ways are "open", "refused", "silent" or "" where
// they were not tested.
type Pair struct {
	ID        string      `json:"id"`
	Rank      *int        `json:"rank,omitempty"` // nil without a roster
	Host      string      `json:"host,omitempty"`
	Out       meeting.Way `json:"out,omitempty"`
	In        meeting.Way `json:"in,omitempty"`
	LatencyNS int64       `json:"latency_ns,omitempty"`
	OffsetNS  int64       `json:"clock_offset_ns,omitempty"` // its clock minus the one here
	RateOut   float64     `json:"rate_out_bit_per_s,omitempty"`
	RateIn    float64     `json:"rate_in_bit_per_s,omitempty"`
	Version   string      `json:"version,omitempty"`
}

// slowShare is the share of the median rate below which a link is named.
const slowShare = 0.2

// judgeLinks judges the rates: it names links that are far slower than most.
func judgeLinks(r *meeting.Result) Row {
	var rates []float64
	for _, o := range r.Others {
		for _, rate := range []float64{o.RateOut, o.RateIn} {
			if rate > 0 {
				rates = append(rates, rate)
			}
		}
	}
	if len(rates) == 0 {
		return Row{}
	}
	usual := stats.Median(rates)
	var slow []string
	for _, o := range r.Others {
		if low := least(o.RateOut, o.RateIn); low > 0 && low < slowShare*usual {
			slow = append(slow, fmt.Sprintf("%s: %s", nameOf(o), bits(low)))
		}
	}
	if len(slow) > 0 {
		return complaint("links", Look, fmt.Sprintf("far slower than most, which have %s: %s", bits(usual),
			strings.Join(slow, ", ")),
			"look at cable, switch port (100 Mbit/s?), Wi-Fi and other traffic there; all wait for the "+
				"slowest link")
	}
	return ok("links", "%s to %s", bits(slices.Min(rates)), bits(slices.Max(rates)))
}

// least returns the smaller of two rates that were measured, 0 if none was.
func least(a, b float64) float64 {
	if a == 0 || b == 0 {
		return math.Max(a, b)
	}
	return math.Min(a, b)
}

// bits writes a rate.
func bits(rate float64) string {
	if rate == 0 {
		return "-"
	}
	return human.Rate(rate)
}

func pairsOf(r *meeting.Result) []Pair {
	var pairs []Pair
	for _, o := range r.Others {
		p := Pair{ID: o.ID, Host: o.Facts.Host, Out: o.Out, In: o.In, LatencyNS: o.Latency.Nanoseconds(),
			OffsetNS: o.Offset.Nanoseconds(), RateOut: o.RateOut, RateIn: o.RateIn, Version: o.Facts.Version}
		if o.Rank >= 0 {
			p.Rank = &o.Rank
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// writePairs prints a line per machine of the meeting.
func writePairs(w io.Writer, pairs []Pair) error {
	if len(pairs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := human.AlignLeft(w)
	fmt.Fprintln(t, "PEER\tFROM HERE\tTO HERE\tROUND TRIP\tRATE FROM HERE\tRATE TO HERE\tCLOCK")
	for _, p := range pairs {
		o := meeting.Other{ID: p.ID, Rank: handshake.Unranked, Facts: meeting.Facts{Host: p.Host}}
		if p.Rank != nil {
			o.Rank = *p.Rank
		}
		latency, clock := "-", "-"
		if p.LatencyNS > 0 {
			latency = time.Duration(p.LatencyNS).Round(10 * time.Microsecond).String()
			clock = fmt.Sprintf("%+.3fs", time.Duration(p.OffsetNS).Seconds())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", nameOf(o), orDash(p.Out), orDash(p.In), latency, bits(p.RateOut),
			bits(p.RateIn), clock)
	}
	return t.Flush()
}

func orDash(w meeting.Way) string {
	if w == meeting.Untested {
		return "-"
	}
	return string(w)
}

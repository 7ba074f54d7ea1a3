package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/doctor"
	"gossiptrainer/configs"
)

// probe measures the links to the other machines of the roster. The slowest link and the longest latency stand for all:
// workers wait for them. A limit of the run file holds where it is narrower.
func (p *planner) probe(ctx context.Context) error {
	if len(p.base.Config.Peers) == 0 {
		return p.base.Locate(configs.Errorf("peers", "is empty: --probe measures the links between the machines of a "+
			"roster: list them, or leave the flag out"))
	}
	p.tell("meets the other machines of the roster")
	report, err := doctor.Examine(ctx, p.Doctor)
	if err != nil && report == nil {
		return err
	}
	rate, latency := narrowest(report.Pairs)
	if rate == 0 {
		none := errors.New("no link was measured")
		return advice.With(fmt.Errorf("plan: --probe: %w", cmp.Or(err, none)),
			"start peer doctor --peers with the same run file on the other machines, at the same time")
	}
	if p.limits, err = narrowed(p.base.Config.Limit.Uplink(), rate, latency); err != nil {
		return p.base.Locate(err)
	}
	run, err := p.assemble(Candidate{})
	if err != nil {
		return err
	}
	p.result.Links = linksOf(run.Network()) + ", as measured"
	return nil
}

// narrowest returns the least rate of all pairs in bit/s, and half of their longest round trip.
func narrowest(pairs []doctor.Pair) (rate float64, latency time.Duration) {
	for _, pair := range pairs {
		for _, r := range []float64{pair.RateOut, pair.RateIn} {
			if r > 0 && (rate == 0 || r < rate) {
				rate = r
			}
		}
		latency = max(latency, time.Duration(pair.LatencyNS)/2)
	}
	return rate, latency
}

// narrowed returns the settings of the uplink where measured links are narrower than the limits of the run file.
func narrowed(own configs.LinkLimit, rate float64, latency time.Duration) ([]string, error) {
	limit, err := configs.ParseRate(own.Rate)
	if err != nil {
		return nil, configs.Errorf("limit.rate", "%v", err)
	}
	var set []string
	if limit == 0 || rate < limit {
		set = append(set, fmt.Sprintf("limit.rate=%.0fkbit", rate/1e3))
	}
	if latency > time.Duration(own.Latency) {
		set = append(set, "limit.latency="+latency.Round(10*time.Microsecond).String())
	}
	return set, nil
}

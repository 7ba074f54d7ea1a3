//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/stats"
	"gossiptrainer/studies/markdown"
)

// A soak is one run at a steady pace whose peers meet one random fault after another. soakPace is about the number of
// rounds per second, faults included.
const (
	soakPace    = 15
	soakLatency = "20ms"
	soakSample  = 2 * time.Second
	soakRest    = 50 // rounds between two faults, on average
)

// soakKinds are the faults that a soak draws from, with their longest durations. Faults that a lab cannot inject need a
// lan.
func soakKinds(p place) []fault {
	kinds := []fault{{kind: freeze, lasts: 8 * time.Second}}
	if p == lan {
		kinds = append(kinds,
			fault{kind: cable, lasts: 8 * time.Second}, fault{kind: split, lasts: 8 * time.Second},
			fault{kind: corrupt, lasts: 4 * time.Second},
			fault{kind: slow, lasts: 4 * time.Second}, fault{kind: garbage, lasts: 4 * time.Second},
			fault{kind: kill, lasts: 4 * time.Second})
	}
	return kinds
}

// soak plays random faults for about the duration d and returns the document. The error lists broken promises.
func (r rig) soak(ctx context.Context, d time.Duration) (string, error) {
	s := scenario{
		name: "soak", place: lan, peers: 8, rounds: max(4*soakRest, int(d.Seconds()*soakPace)), noticed: whenever(),
		within:   30 * time.Second,
		settings: kept("limit.latency="+soakLatency, "train.schedule=constant"), faults: []fault{{lasts: 2 * d}},
	}
	if err := available(); err != nil {
		r.log("faults of the network: SKIPPED: %v", err)
		s.place = lab
	}
	t, err := r.trial(s)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(t.dir)
	want, err := s.undisturbed(ctx, r.peer, t.dir)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, s.total())
	defer cancel()
	defer t.site.close()
	if err := t.site.start(ctx, t.watch); err != nil {
		return "", err
	}
	sampling, enough := context.WithCancel(ctx)
	histories := make(chan map[int]history)
	go func() { histories <- t.sample(sampling) }()
	effects := t.torment(ctx)
	enough()
	lives := <-histories
	for _, e := range effects {
		t.broken = append(t.broken, e.broken...)
	}
	if len(t.broken) == 0 {
		t.conclude(ctx, want)
	}
	for pid, h := range lives {
		t.broken = append(t.broken, h.leaks(fmt.Sprintf("process %d", pid))...)
	}
	text := soakDocument(s, effects, lives, t.broken)
	if len(t.broken) > 0 {
		return text, fmt.Errorf("%d promises were not kept", len(t.broken))
	}
	return text, nil
}

// torment plays one random fault after the other until the run is nearly over.
func (t *trial) torment(ctx context.Context) []effect {
	kinds := soakKinds(t.place)
	var effects []effect
	for {
		f := kinds[t.rand.IntN(len(kinds))]
		victims := t.peers
		if f.deadly() {
			victims /= 2 // the others live to the end, so that the leak check can judge them
		}
		f.rank, f.lasts = t.rand.IntN(victims), f.lasts/16+time.Duration(t.rand.Int64N(int64(f.lasts)))
		f.round = t.watch.atLeast() + 1 + t.rand.IntN(2*soakRest)
		if f.round > t.rounds*9/10 {
			return effects
		}
		e := t.strike(ctx, f)
		effects = append(effects, e)
		if len(e.broken) > 0 {
			return effects
		}
	}
}

// A history samples the footprint of a process over its life.
type history []footprint

// sample watches all peers until ctx ends.
func (t *trial) sample(ctx context.Context) map[int]history {
	lives := make(map[int]history)
	for ctx.Err() == nil {
		for pid, f := range t.footprints() {
			lives[pid] = append(lives[pid], f)
		}
		pause(ctx, soakSample)
	}
	return lives
}

// Shares of a life. The leak check compares the footprint after warm-up with that at the end.
const (
	warm     = 0.3 // of its samples are warm-up
	compared = 0.2 // of its samples are compared with as many
	growth   = 1.05
)

// shortLife is the least number of samples of a life that the leak check judges. A heap grows for about four minutes,
// as long as gossipsub remembers messages.
const shortLife = 360

// short reports whether a life is too short to be judged.
func (h history) short() bool { return len(h) < shortLife }

// ends returns the footprints after warm-up and at the end.
func (h history) ends() (first, last footprint) {
	n := int(compared * float64(len(h)))
	return h[int(warm*float64(len(h))):][:n].typical(), h[len(h)-n:].typical()
}

// leaks lists the resources that grew between warm-up and the end.
func (h history) leaks(who string) []string {
	if h.short() {
		return nil
	}
	first, last := h.ends()
	var found []string
	if last.handles > first.handles+spare {
		found = append(found, fmt.Sprintf("%s: %d handles, %d when it was warm", who, last.handles, first.handles))
	}
	if last.goroutines > first.goroutines+spareGoroutines {
		found = append(found, fmt.Sprintf("%s: %d goroutines, %d when it was warm", who, last.goroutines, first.goroutines))
	}
	if float64(last.rss) > growth*float64(first.rss) {
		found = append(found, fmt.Sprintf("%s: %d kB of memory, %d when it was warm", who, last.rss>>10, first.rss>>10))
	}
	return found
}

// typical returns the medians.
func (h history) typical() footprint {
	usual := func(of func(f footprint) int64) int64 {
		var all []int64
		for _, f := range h {
			all = append(all, of(f))
		}
		return stats.Median(all)
	}
	return footprint{
		handles:    int(usual(func(f footprint) int64 { return int64(f.handles) })),
		threads:    int(usual(func(f footprint) int64 { return int64(f.threads) })),
		goroutines: int(usual(func(f footprint) int64 { return int64(f.goroutines) })),
		rss:        usual(func(f footprint) int64 { return f.rss }),
	}
}

// soakDocument returns the Markdown text of a soak.
func soakDocument(s scenario, effects []effect, lives map[int]history, broken []string) string {
	byKind := make(map[kind][]effect)
	for _, e := range effects {
		byKind[e.kind] = append(byKind[e.kind], e)
	}
	faults := [][]string{{"fault", "times", "noticed by others", "recovered in, median", "at most"}}
	for _, k := range []kind{kill, freeze, cable, split, slow, corrupt, garbage} {
		var took []time.Duration
		noticed := 0
		for _, e := range byKind[k] {
			took = append(took, e.recovered)
			if e.noticed >= 0 {
				noticed++
			}
		}
		if slices.Sort(took); len(took) > 0 {
			faults = append(faults, []string{string(k), fmt.Sprint(len(took)), fmt.Sprint(noticed), seconds(took[len(took)/2]),
				seconds(took[len(took)-1])})
		}
	}
	held := [][]string{{"process", "samples", "handles warm", "at the end", "goroutines warm", "at the end",
		"memory warm, kB", "at the end"}}
	brief := 0
	for _, pid := range slices.Sorted(maps.Keys(lives)) {
		h := lives[pid]
		if h.short() {
			brief++
			continue
		}
		a, b := h.ends()
		held = append(held, []string{fmt.Sprint(len(held)), fmt.Sprint(len(h)), fmt.Sprint(a.handles), fmt.Sprint(b.handles),
			fmt.Sprint(a.goroutines), fmt.Sprint(b.goroutines), fmt.Sprint(a.rss >> 10), fmt.Sprint(b.rss >> 10)})
	}
	verdict := "Every promise was kept.\n"
	if len(broken) > 0 {
		verdict = "NOT kept:\n\n* " + strings.Join(broken, "\n* ") + "\n"
	}
	return fmt.Sprintf("# Soak: %d rounds of %d peers\n\n%s\n%s\n%d more processes lived too briefly to be judged. %s",
		s.rounds, s.peers, markdown.Table(faults), markdown.Table(held), brief, verdict)
}

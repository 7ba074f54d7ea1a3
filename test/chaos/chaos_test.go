//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
)

// fullVariable, when set, has the tests play the scenarios whose names it matches, for minutes.
const fullVariable = "CHAOS"

// quick are scenarios that take seconds, for every test run. Their time bounds only detect a run that hangs.
func quick() []scenario {
	return []scenario{
		{name: "quick-hung", place: lab, peers: 4, rounds: 600, noticed: whenever(), within: time.Minute,
			settings: []string{"model.hidden=[16]"},
			faults:   []fault{{freeze, anyRank, 20, 500 * time.Millisecond}}},
		{name: "quick-lan", place: lan, peers: 4, rounds: 600, noticed: whenever(), within: time.Minute,
			settings: []string{"model.hidden=[16]"},
			faults: []fault{
				{cable, anyRank, 20, 500 * time.Millisecond}, {corrupt, anyRank, 100, 300 * time.Millisecond},
				{split, anyRank, 200, 500 * time.Millisecond}, {garbage, anyRank, 300, 300 * time.Millisecond},
			}},
	}
}

func TestPeersKeepTheirPromises(t *testing.T) {
	if testing.Short() {
		t.Skip("starts peers")
	}
	peer, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	played := quick()
	if available() == nil {
		played = played[1:] // the same peers, with more faults, on a LAN
	}
	if pattern := os.Getenv(fullVariable); pattern != "" {
		chosen := regexp.MustCompile(pattern)
		for _, s := range rows() {
			if chosen.MatchString(s.name) {
				played = append(played, s)
			}
		}
	}
	for _, s := range played {
		t.Run(s.name, func(t *testing.T) {
			if err := available(); s.place == lan && err != nil {
				t.Skipf("%v: NOTHING of this was tested", err)
			}
			effects, err := rig{peer: peer, seed: 1, log: t.Logf}.play(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range effects {
				for _, why := range e.broken {
					t.Errorf("%v: %s", e.fault, why)
				}
			}
		})
	}
}

func TestScenariosAreRunFilesAndDifferInTheirNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range append(rows(), quick()...) {
		if seen[s.name] {
			t.Errorf("two scenarios are named %s", s.name)
		}
		seen[s.name] = true
		var set []string
		for _, word := range s.sets() {
			if word != "--set" {
				set = append(set, word)
			}
		}
		if _, err := configs.Load(configs.Source{File: "ring8", Set: set}); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		for _, f := range s.faults {
			if f.round+spread+settle >= s.rounds && s.ends == unchanged {
				t.Errorf("%s: round %d of %d may be too late to get over %s", s.name, f.round, s.rounds, f.kind)
			}
		}
	}
}

func TestTheSeedDecidesWhichPeerAFaultHits(t *testing.T) {
	draw := func(seed uint64) (all []fault) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			all = append(all, fault{kind: kill, rank: anyRank, round: 5}.drawn(r, 8))
		}
		return all
	}
	first := draw(1)
	if !reflect.DeepEqual(first, draw(1)) || reflect.DeepEqual(first, draw(2)) {
		t.Error("faults do not follow from the seed")
	}
	for _, f := range first {
		if f.rank < 0 || f.rank > 7 || f.round < 5 || f.round >= 5+spread {
			t.Errorf("out of bounds: %v", f)
		}
	}
}

func TestASplitRingHasTwoHalves(t *testing.T) {
	f := fault{kind: split, rank: 6}
	cut := 0
	for i := range 8 {
		if f.strikes(i, 8) != f.strikes((i+1)%8, 8) {
			cut++
		}
	}
	if cut != 2 || !f.strikes(1, 8) || f.strikes(2, 8) {
		t.Errorf("%d edges of the ring are cut, want 2: 5-6 and 1-2", cut)
	}
}

func TestALeakIsFound(t *testing.T) {
	var steady, growing history
	for i := range shortLife {
		steady = append(steady, footprint{handles: 12 + i%3, goroutines: 68 + i%9, rss: 50e6 + int64(i%7)*1e5})
		growing = append(growing, footprint{handles: 12 + i/10, goroutines: 68 + i, rss: 50e6 + int64(i)*1e5})
	}
	if found := steady.leaks("a"); len(found) > 0 {
		t.Errorf("of a steady process: %q", found)
	}
	if found := growing.leaks("b"); len(found) != 3 {
		t.Errorf("of a growing process: %q, want handles, goroutines and memory", found)
	}
}

func TestRanksInBrackets(t *testing.T) {
	for text, want := range map[string]int{"[3] INF link down": 3, "[12] x": 12, "peer: lab: x": -1, "[x] y": -1,
		"[] y": -1} {
		if got := bracketed(text); got != want {
			t.Errorf("%q: rank %d, want %d", text, got, want)
		}
	}
}

func TestLinesNameTheLinkThatIsDown(t *testing.T) {
	for text, want := range map[string]int{
		`INF link down run=x neighbour=7 why="no"`: 7, "[3] INF link down neighbour=12": 12, "DBG link up neighbour=7": -1,
		"link down": -1,
	} {
		if got := (line{text: text}).lost(); got != want {
			t.Errorf("%q: rank %d, want %d", text, got, want)
		}
	}
}

func TestTheTableNamesTheBrokenParts(t *testing.T) {
	text := document([]effect{
		{fault: fault{kill, 3, 50, 0}, scenario: "a", noticed: 30 * time.Millisecond, recovered: time.Second,
			lost: "4 rounds done again"},
		{fault: fault{kill, 4, 90, 0}, scenario: "a", noticed: 10 * time.Millisecond, recovered: 3 * time.Second,
			lost: "4 rounds done again"},
		{fault: fault{cable, 1, 60, time.Second}, scenario: "b", noticed: -1, recovered: -1, lost: "nothing",
			broken: []string{"peer 1 holds 90 handles, 12 before"}},
	}, 7, []string{"c"})
	for _, want := range []string{
		"|        a |     2 | 0.00 s | 0.03 s (0.03 s) | 3.00 s (3.00 s) | 4 rounds done again |          yes |",
		"|        b |     1 | 1.00 s |               - |               - |             nothing |           NO |",
		"* b: cable pulled, peer 1, round 60, 1s: peer 1 holds 90 handles", "* c: SKIPPED", "-seed 7",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

package build

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/peer"
)

// lying are runs with a liar: every algorithm, with codecs and compressors, on graphs of each kind.
func lying() map[string][]string {
	all := maps.Clone(memories)
	maps.Copy(all, meetings)
	maps.DeleteFunc(all, func(name string, own []string) bool {
		return strings.Contains(name, "normalization") || own[len(own)-1] == "topology.size=1" ||
			own[len(own)-1] == "topology.size=2"
	})
	maps.Copy(all, map[string][]string{
		"matching":                 {"topology.kind=random-matching"},
		"one-peer, violated":       {"topology.kind=one-peer-exponential", "algorithm.theta={rule: fixed, value: 1e-4}"},
		"directed":                 {"topology.kind=static-exponential"},
		"star, full":               {"topology.kind=star", "algorithm.bits=32"},
		"complete, local":          {"topology.kind=complete", "algorithm.local_steps=2"},
		"ring, reweight":           {"faults.on_lost_neighbor=reweight"},
		"ring, violated, reweight": {"faults.on_lost_neighbor=reweight", "algorithm.theta={rule: fixed, value: 1e-4}"},
		"ring, full, reweight":     {"faults.on_lost_neighbor=reweight", "algorithm.bits=32"},
		"complete, reweight":       {"faults.on_lost_neighbor=reweight", "topology.kind=complete"},
		"star, local, reweight":    {"faults.on_lost_neighbor=reweight", "topology.kind=star", "algorithm.local_steps=2"},
		"ad-psgd, reweight":        {"faults.on_lost_neighbor=reweight", "algorithm.name=adpsgd"},
		"ad-psgd, full, reweight": {"faults.on_lost_neighbor=reweight", "algorithm={name: adpsgd, bits: 32}",
			"topology.kind=complete"},
	})
	return all
}

// lieTo lets the workers of a run meet a liar. Under the policy reweight all honest workers finish.
func lieTo(t testing.TB, name string, own []string, d *dice) *mob {
	m := facing(t, own, d)
	until := liarLives + 20*time.Second
	if m.mode == peer.Reweight {
		until = mobLives
	}
	m.play(until)
	for _, p := range m.members {
		if m.mode == peer.Reweight && p.Rank != m.liar && !p.gone {
			t.Fatalf("%s: worker %d is in round %d of %d %v after worker %d has ended", name, p.Rank, p.place.Round, p.Rounds,
				m.now-m.ends, m.liar)
		}
	}
	return m
}

// facing returns the workers of a run before they begin.
func facing(t testing.TB, own []string, d *dice) *mob {
	r := remembering(t, own, append(bucketsOf(16), "topology.size=6", "train.rounds=14", "model.name=quadratic",
		"model.dim=40"))
	_, numbered := any(workers(t, r)[0].Machine).(gossip.Numbered)
	mode, journal := []peer.Policy{peer.Wait, peer.Fail}[d.below(2)], numbered && d.below(2) == 0
	if r.Config().Reweights() {
		mode, journal = peer.Reweight, false
	}
	return newMob(t, r, mode, journal, d)
}

// seeds is how many runs of each kind the tests take; fuzzing takes more.
const seeds uint64 = 3

// No frame of one worker ends another one, whatever its fields hold: an honest worker refuses it and blames its sender.
// Under the policy reweight the honest workers go on, and finish when the liar has gone.
func TestNoFrameOfOneEndsAnother(t *testing.T) {
	all := lying()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for seed := range seeds {
				refused += lieTo(t, name, all[name], &dice{Rand: rand.New(rand.NewPCG(seed, 11))}).refused
			}
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// A worker that gets one frame again and again answers a few times. The liar need not read the answers, and they would
// fill the memory of the worker.
func TestRepeatedFramesGetFewAnswers(t *testing.T) {
	const times = 4000
	all := lying()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				m := facing(t, all[name], &dice{Rand: rand.New(rand.NewPCG(seed, 12))})
				m.after(m.ends/2, func() {
					for range 8 {
						m.flood(times)
					}
				})
				m.play(liarLives)
			}
		})
	}
}

// The script decides what the liar does first, and the seed the rest.
func FuzzFrames(f *testing.F) {
	all := lying()
	names := slices.Sorted(maps.Keys(all))
	for i := range names {
		f.Add(uint8(i), uint64(i), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	}
	f.Fuzz(func(t *testing.T, run uint8, seed uint64, script []byte) {
		name := names[int(run)%len(names)]
		lieTo(t, name, all[name], &dice{script: script, Rand: rand.New(rand.NewPCG(seed, 13))})
	})
}

package member

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

var schedules = flag.Int("schedules", 150, "`N` random schedules of joins, leaves, deaths, pauses and partitions")
var firstSeed = flag.Uint64("first", 1, "`SEED` of the first random schedule")

var kinds = []topology.Kind{topology.Ring, topology.Torus, topology.OnePeerExponential, topology.RandomMatching,
	topology.Complete, topology.Base2, topology.StaticExponential, topology.RandomShift}

var rules = []string{"dpsgd", "adaptive", "atc", "gt adaptive", "moniqua", "measured", "pieces", "bits", "gt",
	"adaptive", "d2", "bits", "choco", "measured", "allreduce", "allgather", "server"}

func settingOf(seed uint64) setting {
	s := setting{kind: kinds[seed%uint64(len(kinds))], rule: rules[seed/8%uint64(len(rules))], n: 1 + int(seed/3%8),
		seed: seed, every: 1 + int(seed/5%4)/3, margin: []int{0, 2, 6}[seed%3], faults: int(seed % 17)}
	if s.rule == "d2" || s.rule == "choco" {
		s.kind = kinds[seed%2]
	}
	if (s.rule == "choco" || s.together() != nil) && s.every > 1 {
		s.every = 1
	}
	return s
}

// checkWorld compares all members of a finished world with the replay of the longest log.
func checkWorld(w *world) error {
	log, err := w.Longest()
	if err != nil {
		return err
	}
	again := newBuilder(w.setting)
	if err := retrace.Run(log, again, w.plan(), again); err != nil {
		return err
	}
	for k, models := range w.build.models {
		x := k / w.every
		for id, got := range models {
			last, dead := log.Dead(id)
			off := dead && x > last || w.together() != nil && view.Out(log, id, x)
			if _, member := log.At(log.Force(x)).Rank(id); !member || off {
				continue // nothing of it counts
			}
			if want := again.models[k][id]; !slices.Equal(got, want) {
				return fmt.Errorf("member %d begins round %d with %v, the replay with %v", id, k, got, want)
			}
		}
	}
	return nil
}

func describe(w *world) string { return fmt.Sprint(w.setting, " ", w.Describe()) }

// Schedules that once failed. The names say what must hold.
func TestSchedulesThatOnceFailed(t *testing.T) {
	for what, seed := range map[string]uint64{
		"the death of a member of an earlier view drops no letter of an all-reduce":   3807,
		"no later record changes theta of a view that a slow leaver is not in":        2082,
		"a newcomer that begins twice is a sponsor in its second life alone":          2428,
		"an all-reduce does an exchange again when all that had finished it are dead": 5979,
		"a report has the exchange that a slow leaver of an all-reduce lacks":         200190,
		"a member of an all-reduce keeps the state at the end of a slow leaver":       208467,
		"of a view that a member has not entered it knows the beginning alone":        51773,
		"what a leaver alone knows about voters reaches the others":                   6011,
	} {
		w := newWorld(settingOf(seed))
		err := w.Run()
		if err == nil {
			err = checkWorld(w)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, describe(w))
		}
	}
}

// Where all members with a state die or leave, newcomers and leavers say so: nothing can be decided any more.
func TestMembersWithoutAStateSaySo(t *testing.T) {
	for _, seed := range []uint64{902342, 26531} {
		w := newWorld(settingOf(seed))
		if err := w.Run(); err != nil || w.Counts["no state"] == 0 {
			t.Errorf("error %v\n%s", err, describe(w))
		}
		if err := checkWorld(w); err != nil {
			t.Error(err)
		}
	}
}

// Random schedules: every float of every member is that of the replay, and nothing stalls.
func TestRandomSchedulesReplay(t *testing.T) {
	total := map[string]int{}
	for i := range *schedules {
		w := newWorld(settingOf(*firstSeed + uint64(i)))
		err := w.Run()
		if err == nil {
			err = checkWorld(w)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, describe(w))
			if t.Failed() && i > 20 {
				break
			}
		}
		for what, n := range w.Counts {
			total[what] += n
		}
	}
	t.Log(total)
}

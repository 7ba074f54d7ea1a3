package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// keptRun is a run whose members keep their states.
var keptRun = strings.NewReplacer("momentum: 0", "momentum: 0.9", "size: 1", "size: 2", "max: 3", "max: 8",
	"grace: 20s", "grace: 3s").Replace(joinedRun) + "checkpoint: {every: 40}\n"

// keptStates waits until a machine has a state of some rounds.
func (c *lanRun) keptStates(machine string) {
	c.t.Helper()
	for range 600 {
		all, _ := filepath.Glob(filepath.Join(c.folder(machine), "checkpoints", "rank-*", "round-*"))
		if len(all) > 1 {
			return
		}
		c.ask(machine, "status")
	}
	c.t.Fatalf("%s keeps no states: %s", machine, c.said[machine])
}

// tellsOwnViews checks that a machine counts the views before its own first one, and tells each of the others.
func tellsOwnViews(t *testing.T, machine, said string, log []record.Membership) {
	t.Helper()
	before := regexp.MustCompile(`(?m)^(\d+) views? came before this machine took part: views.jsonl has them$`).
		FindStringSubmatch(said)
	told := regexp.MustCompile(`(?m)^view (\d+) from exchange `).FindAllStringSubmatch(said, -1)
	if len(before) == 0 || len(told) == 0 || before[1] == "0" || told[0][1] != before[1] {
		t.Fatalf("%s counts %v and tells the views %v: %s", machine, before, told, said)
	}
	if n, _ := strconv.Atoi(before[1]); n+len(told) != len(log) {
		t.Errorf("%s counts %d views and tells %d of %d", machine, n, len(told), len(log))
	}
}

// resumedRun ends a resumed run, and checks that the log of all machines replays to its digest.
func (c *lanRun) resumedRun(machines ...string) {
	c.t.Helper()
	c.ask(machines[0], "stop")
	for _, machine := range machines {
		c.ends(machine)
	}
	for _, machine := range machines {
		s, folder := c.summary(machine), c.folder(machine)
		tellsOwnViews(c.t, machine, c.said[machine].String(), s.Losses.Log)
		log, err := os.ReadFile(filepath.Join(folder, "views.jsonl"))
		resumed := bytes.Contains(log, []byte(`"parent":{"lineage":"`)) &&
			bytes.Contains(log, []byte(" resumes the run"))
		if err != nil || !resumed {
			c.t.Errorf("%s: the log %s, error %v", machine, log, err)
		}
		replayed := c.ask(machine, "sim", filepath.Join(folder, "run.yaml"), "--views", folder, "--json")
		if !strings.Contains(string(replayed), s.Digest) || s.Digest != c.summary(machines[0]).Digest {
			c.t.Errorf("%s: the replay %s, want %s", machine, replayed, s.Digest)
		}
	}
}

// All machines lose their power. When they are on again, all resume: one goes on from its state, and the others join.
// So does a machine that was not there before. Then the run is stopped in the evening, and goes on the next day.
func TestACrewIsSwitchedOffAndGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := newLANRun(t, keptRun, 2, "attic", "shelf", "loft")
	c.start("attic")
	c.start("shelf")
	c.members(2, 2)
	c.keptStates("attic")
	c.keptStates("shelf")
	c.kill("attic")
	c.kill("shelf")
	c.start("attic", "--resume")
	c.start("shelf", "--resume")
	c.members(2, 2)
	c.start("loft")
	c.members(3, 3)
	c.resumedRun("attic", "shelf", "loft")
	c.start("loft", "--resume")
	for _, v := range c.members(1, 1) {
		if v.First == 0 || !strings.HasSuffix(v.Why, " resumes the run") {
			t.Errorf("view %+v", *v)
		}
	}
	c.resumedRun("loft")
}

// Machines leave one after the other. The last one has the state of all, and goes on.
func TestTheLastMachineGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := newLANRun(t, strings.Replace(keptRun, "every: 40", "every: 1000000", 1), 2, "attic", "shelf")
	c.start("attic")
	c.start("shelf")
	c.members(2, 2)
	c.leave("attic")
	c.members(1, 1)
	c.leave("shelf")
	c.start("shelf", "--resume")
	c.members(1, 1)
	c.start("attic")
	c.members(2, 2)
	c.resumedRun("shelf", "attic")
}

// The error of a run that cannot resume says what to do.
func TestMembersThatKeepNoState(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := newLANRun(t, keptRun, 2, "attic", "shelf")
	for want, flags := range map[string][]string{
		"start without --resume": {"--resume"},
		"--without-majority FOLDER crew.yaml --set ": {"--resume", "--set", "algorithm.name=adpsgd",
			"--set", "checkpoint.every=0"},
		"--set train.from=FOLDER/peer-ID.safetensors": {"--resume", "--set", "algorithm.name=adpsgd", "--set",
			"checkpoint.every=0"},
		"members of scripts and of adpsgd take no checkpoints: leave it out": {"--set", "algorithm.name=adpsgd"},
		"two ways to go on": {"--resume", "--without-majority", "."},
	} {
		c.start("attic", flags...)
		c.running["attic"].Wait()
		if said := c.said["attic"].String(); !strings.Contains(said, want) {
			t.Errorf("%v: %s, want %q", flags, said, want)
		}
	}
}

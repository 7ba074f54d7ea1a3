package configs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// members begins a run file whose members come and go.
const members = "membership: {mode: view}\n"

func TestScriptOfMembersIsReadAndWritten(t *testing.T) {
	l := mustLoad(t, members+"faults: {script: [{at: 200, join: 2}, {at: 3s, leave: 9}, {at: 100, die: 3}]}")
	if script := l.Config.Faults.Script; *script[0].Join != 2 || *script[1].Leave != 9 || *script[2].Die != 3 {
		t.Errorf("the script is %+v", script)
	}
	if diff := cmp.Diff(l.Config, mustLoad(t, string(l.Config.YAML())).Config); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
	words, err := loadFaults(t, members, "at=200 join=2", "at=3s leave=9", "at=100 die=3")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Config, words.Config); diff != "" {
		t.Errorf("in the file and as words:\n%s", diff)
	}
}

func TestBadMembership(t *testing.T) {
	for text, want := range map[string]string{
		"membership: {mode: local}": "membership.mode: must be one of fixed, view, got \"local\"",
		"membership: {mode: view, min: 9}": "membership.min: the run begins with 8 members, and with fewer than 9 all " +
			"wait: must be at most 8",
		members + "topology: {size: 20}": "begins with 20 members: must be at least 20, got 16",
		members + "model: {name: external}\ntrain: {rounds: script}": "train.rounds: where members come and go, a newcomer " +
			"cannot know how many steps the scripts of others take: give a number",
		"membership: {mode: view, max: 4}":     "membership.max: the run begins with 8 members: must be at least 8, got 4",
		"membership: {mode: view, min: 0}":     "membership.min: must be at least 1, got 0",
		"membership: {mode: view, grace: 10}":  "membership.grace: must have a unit, as 10ms or 10s",
		"membership: {mode: view, grace: 1ms}": "membership.grace: must be 500ms to 10m, got 1ms",
		"membership: {mode: view, parent: x/1}": "membership.parent: must be a lineage and a number of a view, as 7281/5, " +
			"got \"x/1\"",
		members + "faults: {script: [{at: 1, kill: 0}]}": "kill: is no fault of members that come and go: " +
			"write join, leave or die instead, or set membership.mode to fixed",
		members + "faults: {script: [{at: 1, rate: 1mbit, of: 1}]}": "rate: is no fault of members that come and go",
		members + "faults: {script: [{at: 1, leave: 8}]}": "leave: there is no member 8: the founders are 0 to 7, and the " +
			"script lets 0 join",
		members + "faults: {script: [{at: 1, join: 2}, {at: 1, die: 10}]}": "die: there is no member 10",
		members + "faults: {script: [{at: 1, die: 1, for: never}]}":        "for: has no effect: a die happens in a moment",
		members + "faults: {script: [{at: 1, join: 1, die: 1}]}":           "write join and die as entries of their own",
	} {
		_, err := load(t, text)
		if all := problems(t, err); len(all) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want one problem with %q, got %v", text, want, err)
		}
	}
}

// All members must agree on who may come and when one counts as dead.
func TestMembershipIsComparedBetweenPeers(t *testing.T) {
	keys := sameKeys()
	for _, key := range []string{"mode", "min", "max", "grace", "parent"} {
		if !keys["membership."+key] {
			t.Errorf("membership.%s is not compared", key)
		}
	}
}

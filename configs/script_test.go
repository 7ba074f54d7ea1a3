package configs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allFaults has an entry of each kind.
const allFaults = `faults:
  script:
    - {at: 40, kill: 3}
    - {at: 2s, kill: 4, for: 5s}
    - {at: 2s, cut: [0, 1], for: 5s}
    - {at: 1.5s, hang: 2, for: 20s}
    - {at: 0, slow: 0, by: 4, for: 1m}
    - {at: 7, partition: [[0, 1], [2, 3]], for: 3s}
    - {at: 9, rate: 100kbit, of: 5}
`

func TestScriptIsReadAndWritten(t *testing.T) {
	l := mustLoad(t, allFaults)
	if got := len(l.Config.Faults.Script); got != 7 {
		t.Errorf("%d faults, want 7", got)
	}
	again := mustLoad(t, string(l.Config.YAML()))
	if diff := cmp.Diff(l.Config, again.Config); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s\n%s", diff, l.Config.YAML())
	}
	never := mustLoad(t, "faults: {on_lost_neighbor: reweight, script: [{at: 1, kill: 2, for: never}]}")
	if got := never.Config.Faults.Script[0].For; got != Never {
		t.Errorf("never lasts %v", got)
	}
	if text := string(never.Config.YAML()); !strings.Contains(text, "for: never") {
		t.Errorf("no word never in:\n%s", text)
	}
}

// Peers of one run may differ in their scripts, and a run goes on without its script.
func TestScriptIsNotComparedBetweenPeers(t *testing.T) {
	with, without := mustLoad(t, allFaults), mustLoad(t, "seed: 1")
	if diff := cmp.Diff(without.Config.Sections(), with.Config.Sections()); diff != "" {
		t.Errorf("sections without and with a script:\n%s", diff)
	}
	if keys := sameKeys(); keys["faults.script"] || !keys["faults.tolerance"] {
		t.Errorf("compared: script %v, tolerance %v, want only the latter", keys["faults.script"], keys["faults.tolerance"])
	}
}

func TestFaultsOfTheCommandLineFollowThoseOfTheFile(t *testing.T) {
	file := mustLoad(t, allFaults)
	lines := strings.Split(strings.TrimSpace(allFaults), "\n")[2:]
	for name, cut := range map[string]int{"all": 0, "some": 4} {
		text := strings.Join(append([]string{"faults:", "  script:"}, lines[:cut]...), "\n")
		if cut == 0 {
			text = "seed: 1"
		}
		var flags []string
		for _, line := range lines[cut:] {
			flags = append(flags, strings.TrimPrefix(strings.TrimSpace(line), "- "))
		}
		l, err := loadFaults(t, text, flags...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(file.Config, l.Config); diff != "" {
			t.Errorf("%s: in the file and by --fault:\n%s", name, diff)
		}
	}
	l, err := loadFaults(t, "seed: 1",
		"at=40 kill=3", "at=2s kill=4 for=5s", "at=2s cut=[0,1] for=5s", "at=1.5s  hang=2 for=20s",
		"at=0 slow=0 by=4 for=1m", "at=7 partition=[[0,1],[2,3]] for=3s", "at=9 rate=100kbit of=5")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file.Config, l.Config); diff != "" {
		t.Errorf("in the file and as words:\n%s", diff)
	}
}

func TestBadScripts(t *testing.T) {
	tests := []struct {
		name, entry string
		column      int // of the mistake in the entry
		want        string
	}{
		{"nothing", "{}", 1, "lacks the key at"},
		{"no moment", "{kill: 3}", 1, "lacks the key at"},
		{"no fault", "{at: 3}", 6, "needs one of kill, cut, hang, slow, partition, rate, join, leave or die"},
		{"two faults", "{at: 3, kill: 1, hang: 2, for: 3s}", 24, "write kill and hang as entries of their own"},
		{"an unknown fault", "{at: 3, kil: 1}", 9, "did you mean kill?"},
		{"a moment that is no time", "{at: soon, kill: 1}", 6, "must be like 40 or 2s, got \"soon\""},
		{"a moment before the start", "{at: -1, kill: 1}", 6, "must be at least 0, got -1"},
		{"half a round", "{at: 2.5, kill: 1}", 6, "must be a whole number, got a number"},
		{"a round that the run does not have", "{at: 300, kill: 1}", 6,
			"the run has 300 rounds, so no peer begins round 300: must be at most 299"},
		{"a peer that is not there", "{at: 3, kill: 8}", 15, "there is no worker 8 in a ring of 8"},
		{"a peer below 0", "{at: 3, hang: -1, for: 1s}", 15, "must be at least 0, got -1"},
		{"a hang without an end", "{at: 3, hang: 1}", 15, "needs the time after which it is over: for, like 5s"},
		{"a hang for ever", "{at: 3, hang: 1, for: never}", 23, "must be a time like 5s, got never"},
		{"a death for ever", "{at: 3, kill: 1, for: never}", 23, "the others wait for a peer that never comes back"},
		{"a duration that is none", "{at: 3, kill: 1, for: long}", 23, "must be like 5s or never, got \"long\""},
		{"a year", "{at: 3, kill: 1, for: 9999h}", 23, "must be at most 24h0m0s, got 9999h0m0s"},
		{"a link of one", "{at: 3, cut: [1], for: 1s}", 14, "must be like [0, 1], got [1]"},
		{"a link to itself", "{at: 3, cut: [1, 1], for: 1s}", 14, "a link has two ends"},
		{"a link to nowhere", "{at: 3, cut: [1, 9], for: 1s}", 18, "there is no worker 9"},
		{"slow by nothing", "{at: 3, slow: 1}", 15, "needs the factor: by, from 1 to 1000"},
		{"faster", "{at: 3, slow: 1, by: 0.5}", 22, "must be at least 1, got 0.5"},
		{"a factor of a kill", "{at: 3, kill: 1, by: 2}", 22, "it is the factor of slow, but this entry is a kill"},
		{"a rate of nobody", "{at: 3, rate: 1mbit}", 15, "needs the rank of the peer whose uplink it is: of"},
		{"a rate that is none", "{at: 3, rate: fast, of: 1}", 15, "must be a rate of at least 1kbit like 100mbit"},
		{"a peer of a kill", "{at: 3, kill: 1, of: 2}", 22, "it is the peer of a rate, but this entry is a kill"},
		{"a partition of one group", "{at: 3, partition: [[0, 1, 2, 3, 4, 5, 6, 7]], for: 1s}", 20, "nothing is cut"},
		{"a partition of nobody", "{at: 3, partition: [[]], for: 1s}", 20, "nothing is cut"},
		{"a peer on two sides", "{at: 3, partition: [[0, 1], [1, 2]], for: 1s}", 30, "worker 1 is in two groups"},
		{"a newcomer of a fixed crew", "{at: 3, join: 1}", 15,
			"the workers are the same in all rounds: set membership.mode to view"},
		{"a leaver of a fixed crew", "{at: 3, leave: 1}", 16, "set membership.mode to view, or write kill, cut, hang"},
		{"a death of a fixed crew", "{at: 3, die: 1}", 14, "set membership.mode to view"},
		{"nobody joins", "{at: 3, join: 0}", 15, "must be at least 1, got 0"},
		{"a stranger on a side", "{at: 3, partition: [[0, 8]], for: 1s}", 25, "there is no worker 8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const before = "    - "
			_, err := load(t, "faults:\n  script:\n    - {at: 1, kill: 0}\n"+before+test.entry+"\n")
			all := problems(t, err)
			if len(all) != 1 {
				t.Fatalf("want 1 problem, got %d: %v", len(all), err)
			}
			if p := all[0]; p.Line != 4 || p.Column != len(before)+test.column {
				t.Errorf("want a problem at 4:%d, got %v", len(before)+test.column, p)
			}
			if text := err.(*Error).Detail(); !strings.Contains(text, test.want) {
				t.Errorf("want %q in:\n%s", test.want, text)
			}
			_, err = loadFaults(t, "faults: {script: [{at: 1, kill: 0}]}", test.entry)
			all = problems(t, err)
			if len(all) != 1 || all[0].Source != "--fault "+test.entry {
				t.Fatalf("want 1 problem of --fault %s, got %v", test.entry, err)
			}
			if text := err.(*Error).Detail(); !strings.Contains(text, test.want) {
				t.Errorf("want %q in:\n%s", test.want, text)
			}
		})
	}
}

func TestBadFaultsOfTheCommandLine(t *testing.T) {
	for flag, want := range map[string]string{
		"":               "must say what happens",
		"kill 3":         "must be words like key=value, got \"kill\"",
		"at=40 kill=":    "must be words like key=value, got \"kill=\"",
		"at=40 kill=[":   "--fault at=40 kill=[",
		"{at: 40":        "--fault {at: 40",
		"at=4 at=5":      "given twice",
		"at=4 kill=high": "faults.script.0.kill: must be a whole number, got text",
	} {
		_, err := loadFaults(t, "seed: 1", flag)
		if err == nil || !strings.Contains(err.(*Error).Detail(), want) {
			t.Errorf("--fault %q: want %q, got %v", flag, want, err)
		}
	}
}

func TestScriptsThatNeedAnotherPolicy(t *testing.T) {
	const policy = "checkpoint: {seconds: 0, every: 0}\nfaults: {on_lost_neighbor: %, script: [{at: 1, kill: 0}]}"
	_, err := load(t, strings.Replace(policy, "%", "wait", 1))
	if err == nil || !strings.Contains(err.Error(), "set checkpoint.every or checkpoint.seconds") {
		t.Errorf("killed without checkpoints: %v", err)
	}
	mustLoad(t, strings.Replace(policy, "%", "reweight", 1))
	mustLoad(t, "faults: {on_lost_neighbor: stop, script: [{at: 1, kill: 0, for: never}]}")
}

// The settings of a shorter run leave out the faults that it does not come to.
func TestScriptOfAShorterRun(t *testing.T) {
	long := mustLoad(t, allFaults)
	if set := long.Config.Shortened(41); len(set) != 1 { // the script of the run file stays
		t.Errorf("the settings of 41 rounds are %q, want the rounds alone", set)
	}
	for rounds, want := range map[int][]Fault{
		40: long.Config.Faults.Script[1:],
		1:  long.Config.Faults.Script[1:5],
	} {
		short, err := Load(Source{Set: long.Config.Shortened(rounds)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, short.Config.Faults.Script); diff != "" || int(short.Config.Train.Rounds) != rounds {
			t.Errorf("%d rounds, script (-want +got):\n%s", short.Config.Train.Rounds, diff)
		}
	}
}

// A later layer has a script of its own, and the flags follow that.
func TestScriptOfALaterLayer(t *testing.T) {
	l, err := Load(Source{Set: []string{"faults.script=[{at: 2, kill: 1}]"}, Faults: []string{"at=3 kill=2"}})
	if err != nil {
		t.Fatal(err)
	}
	var killed []int
	for _, f := range l.Config.Faults.Script {
		killed = append(killed, *f.Kill)
	}
	if !slices.Equal(killed, []int{1, 2}) || l.Origin(scriptKey) != "--fault" {
		t.Errorf("killed %v, origin %s", killed, l.Origin(scriptKey))
	}
}

// loadFaults loads a run file with arguments of --fault.
func loadFaults(t testing.TB, text string, faults ...string) (*Loaded, error) {
	t.Helper()
	return loadSource(t, text, Source{Faults: faults})
}

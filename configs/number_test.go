package configs

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// A value in a run file or in --set is the number that a person reads, or an error that names its key and place.
func TestNumbersAreWhatAPersonReads(t *testing.T) {
	for text, want := range map[string]int{
		"10": 10, "+10": 10, "1e1": 10, "10.0": 10, "10.": 10, "1.5e3": 1500, "0": 0, "-0": 0, "1E2": 100,
		"010": -1, "0010": -1, "08": -1, "+010": -1, "010.0": -1, "01e1": -1, "00": -1, "0o10": -1, "0O10": -1, "0x10": -1,
		"0X10": -1, "0b11": -1, "1_000": -1, "0_10": -1, "1_0.0": -1, "1:30": -1, "1:30:00": -1, "190:20:30": -1,
		"yes": -1, "off": -1, "~": -1, "null": -1, "1,000": -1, "١٠": -1, "1/2": -1, "10.5": -1, "'10'": -1, "2026-01-01": -1,
	} {
		for name, load := range map[string]func() (*Loaded, error){
			"file":  func() (*Loaded, error) { return load(t, "train: {rounds: 20000,\n  warmup: "+text+"}") },
			"block": func() (*Loaded, error) { return load(t, "train:\n  rounds: 20000\n  warmup: "+text+"\n") },
			"set":   func() (*Loaded, error) { return load(t, "name: x", "train.rounds=20000", "train.warmup="+text) },
			"env": func() (*Loaded, error) {
				return loadSource(t, "name: x",
					Source{Set: []string{"train.rounds=20000"}, Env: []string{"PEER_TRAIN__WARMUP=" + text}})
			},
		} {
			l, err := load()
			switch {
			case want >= 0 && (err != nil || l.Config.Train.Warmup != want):
				t.Errorf("%s: %s: want %d, got %v, %v", name, text, want, l, err)
			case want < 0 && err == nil:
				t.Errorf("%s: %s: became %d", name, text, l.Config.Train.Warmup)
			case want < 0:
				p := problems(t, err)[0]
				place := p.Line > 0 || strings.Contains(p.Source, "train.warmup") || strings.Contains(p.Source, "WARMUP")
				if !strings.HasPrefix(p.Key, "train.") || !place {
					t.Errorf("%s: %s: %v names no key or place", name, text, err)
				}
			}
		}
	}
}

// A number in another notation is refused with what to write, also in lists, faults and comparisons.
func TestOtherNotationsSayWhatToWrite(t *testing.T) {
	comparison := "name: x\nbase: ring8\nbudget: {rounds: 010}\nalgorithms: [{label: a, name: dpsgd}]\n"
	_, inComparison := LoadComparison(writeFile(t, comparison), nil)
	_, inAlgorithm := LoadComparison(writeFile(t, strings.Replace(comparison, "010}", "10}", 1)+
		"seeds: [0x1]\n"), nil)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"octal":      {errorOf(load(t, "seed: 010")), "seed: must be a number in decimal notation, got 010: write 10"},
		"negative":   {errorOf(load(t, "seed: -010")), "got -010: write -10"},
		"fraction":   {errorOf(load(t, "train: {step_size: 00.5}")), "got 00.5: write 0.5"},
		"hex":        {errorOf(load(t, "seed: 0x10")), "got 0x10: write 16"},
		"separators": {errorOf(load(t, "seed: 1_000")), "got 1_000: write 1000"},
		"list":       {errorOf(load(t, "model: {hidden: [8, 016]}")), "model.hidden.1: must be a number in decimal"},
		"fault": {errorOf(loadSource(t, "name: x", Source{Faults: []string{"at=010 kill=3"}})),
			"faults.script.0.at: must be a"},
		"budget":  {inComparison, "budget.rounds: must be a number in decimal notation, got 010: write 10"},
		"seeds":   {inAlgorithm, "seeds.0: must be a number in decimal notation, got 0x1: write 1"},
		"boolean": {errorOf(load(t, "algorithm: {theta: {verify: yes}}")), "write true or false"},
	} {
		var text string
		if test.err != nil {
			text = test.err.Error() + problems(t, test.err)[0].Hint
		}
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: want %q, got %q", name, test.want, text)
		}
	}
}

func errorOf(_ *Loaded, err error) error { return err }

// Names of columns and classes and labels of a comparison are texts, also where they look like numbers.
func TestNamesKeepTheirCharacters(t *testing.T) {
	for _, text := range []string{"010", "0x10", "1_000", "1e3", "1.0", "-1", "7", "+5", "1:30", "2026-01-01", "007"} {
		for name, load := range map[string]func() (*Loaded, error){
			"file": func() (*Loaded, error) { return load(t, "data: {name: file, path: x.csv, label: "+text+"}") },
			"set":  func() (*Loaded, error) { return load(t, "data: {name: file, path: x.csv}", "data.label="+text) },
		} {
			l, err := load()
			if err != nil || string(l.Config.Data.Label) != text {
				t.Errorf("%s: %s became %v, %v", name, text, l, err)
				continue
			}
			again, err := loadSource(t, string(l.Config.YAML()), Source{})
			if err != nil || again.Config.Data.Label != l.Config.Data.Label {
				t.Errorf("%s: %s is not read back: %v\n%s", name, text, err, l.Config.YAML())
			}
		}
		file := "name: x\nbase: ring8\nnetworks: [{name: " + text + "}]\nalgorithms: [{label: " + text + ", name: dpsgd}]\n"
		c, err := LoadComparison(writeFile(t, file), nil)
		if err != nil || c.Algorithms[0].Label != text || c.Networks[0].Name != text {
			t.Errorf("comparison: %s became %+v, %v", text, c, err)
		}
	}
}

// A duration of 0 needs no unit, wherever it is given.
func TestADurationOfZeroNeedsNoUnit(t *testing.T) {
	for name, load := range map[string]func() (*Loaded, error){
		"file": func() (*Loaded, error) { return load(t, "limit: {latency: 0, jitter: 0}") },
		"text": func() (*Loaded, error) { return load(t, `limit: {latency: "0"}`) },
		"unit": func() (*Loaded, error) { return load(t, "limit: {latency: 0ms}") },
		"set":  func() (*Loaded, error) { return load(t, "limit: {latency: 5ms}", "limit.latency=0") },
		"link": func() (*Loaded, error) { return load(t, `limit: {links: {"0-1": {latency: 0}}}`) },
	} {
		l, err := load()
		if err != nil || l.Config.Limit.Latency != 0 || l.Config.Limit.Links["0-1"].Latency != 0 {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	file := "name: x\nbase: ring8\nnetworks: [{name: a, rate: 1mbit, latency: 0}]\nalgorithms: [{label: a, name: dpsgd}]\n"
	if c, err := LoadComparison(writeFile(t, file), nil); err != nil {
		t.Errorf("comparison: %+v, %v", c, err)
	}
	l := mustLoad(t, "faults: {script: [{at: 0, kill: 3, for: 0}], on_lost_neighbor: wait}")
	if f := l.Config.Faults.Script[0]; f.For != 0 || f.At != (Moment{}) {
		t.Errorf("fault %+v", f)
	}
	if l := mustLoad(t, "limit: {latency: 010ms}"); time.Duration(l.Config.Limit.Latency) != 10*time.Millisecond {
		t.Errorf("latency %v", l.Config.Limit.Latency)
	}
}

// No plain scalar becomes a whole number other than the one that its digits say in decimal notation.
func FuzzWholeNumbers(f *testing.F) {
	for _, text := range []string{"010", "1_0", "0x1f", "1e3", "1:30", "0o17", "-0", "9.0", "0b1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 100 || strings.ContainsAny(text, "\n\r'\"") {
			return
		}
		l, err := Load(Source{Set: []string{"seed=" + text}})
		if err != nil {
			return
		}
		plain, _, _ := strings.Cut(text, " #")
		v, err := strconv.ParseFloat(strings.TrimSpace(plain), 64)
		if strings.ContainsAny(plain, "xX_pP") || err != nil || v != float64(l.Config.Seed) {
			t.Fatalf("%q became %d", text, l.Config.Seed)
		}
	})
}

package cost

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestCostsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Compute{
		"":         {},
		"measured": {Measured: true},
		"20ms":     {Costs: Costs{Gradient: 20 * ms}},
		"gradient=1.5ms round=10µs encode=3ms mix=2ms repair=4ms frame=20µs link=1ms late=3µs": {Costs: Costs{
			Gradient: 1500 * time.Microsecond, Round: 10 * time.Microsecond, Encode: 3 * ms, Mix: 2 * ms, Repair: 4 * ms,
			Frame: 20 * time.Microsecond, Link: ms, Late: 3 * time.Microsecond,
		}},
		"gradient=1ms frame=1ns": {Costs: Costs{Gradient: ms, Frame: 1}},
	} {
		got, err := Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, which is %q, error %v, want %+v", text, got, got.String(), err, want)
		}
	}
	for text, want := range map[string]string{
		"fast":                        `"fast" is not measured, a time like 20ms, or a cost like gradient=20ms`,
		"-1ms":                        "above 0",
		"gradient=0s":                 "above 0",
		"gradient=2h":                 "at most 1h0m0s",
		"mix=1ms":                     "lacks the time of a gradient",
		"gradient=1ms gradient=2ms":   "gradient is given twice",
		"gradient=1ms speed=2ms":      "speed=2ms",
		"gradient=1ms encode":         `"encode" is not`,
		"gradient=1ms encode=fast":    "encode=fast",
		"measured gradient=1ms":       `"measured" is not`,
		"gradient=1ms encode=-1ms":    "above 0",
		"gradient=1ms encode=1000000": "encode=1000000",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("gradient=1.5ms encode=3ms")
	f.Add("20ms")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(c.String()); err != nil || again != c {
			t.Errorf("%q: %+v, read again %+v, error %v", text, c, again, err)
		}
	})
}

// ends carries out all jobs and returns what ends when.
func ends(p *Processors[string]) (what []string, when []time.Duration) {
	for {
		at, ok := p.Next()
		if !ok {
			return what, when
		}
		if name, over := p.End(); over {
			what, when = append(what, name), append(when, at)
		}
	}
}

func TestJobsShareTheCores(t *testing.T) {
	for _, test := range []struct {
		cores int
		what  string
		want  []time.Duration
	}{
		{0, "abcd", []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms}},
		{4, "abcd", []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms}},
		{2, "abcd", []time.Duration{ms, 2 * ms, 5 * ms, 10 * ms}},
		{1, "abcd", []time.Duration{ms, 3 * ms, 10 * ms, 15 * ms}},
	} {
		p := NewProcessors[string](test.cores)
		for i, name := range []string{"a", "b", "c", "d"} {
			p.Begin(0, ms<<i, name)
		}
		what, when := ends(p)
		if strings.Join(what, "") != test.what || !slices.Equal(when, test.want) {
			t.Errorf("%d cores: %v end at %v, want %v", test.cores, what, when, test.want)
		}
	}
}

// A short job waits for a long one until its slice is over, even if nothing limited the turn at its beginning. A
// dropped
// job delays nothing.
func TestJobsComeAndGo(t *testing.T) {
	p := NewProcessors[string](1)
	p.Begin(0, 9*ms, "long")
	p.Begin(2*ms, ms, "short")
	p.Begin(2*ms, 9*ms, "killed")
	p.Drop(2*ms, func(name string) bool { return name == "killed" })
	what, when := ends(p)
	if !slices.Equal(what, []string{"short", "long"}) || !slices.Equal(when, []time.Duration{4 * ms, 10 * ms}) {
		t.Errorf("%v end at %v", what, when)
	}
	p.Begin(20*ms, 9*ms, "killed")
	p.Begin(20*ms, ms, "next")
	p.Drop(21*ms, func(name string) bool { return name == "killed" })
	if what, when := ends(p); !slices.Equal(what, []string{"next"}) || when[0] != 22*ms {
		t.Errorf("%v end at %v", what, when)
	}
}

func TestProcessorsGoOnFromTheirState(t *testing.T) {
	busy := func() *Processors[string] {
		p := NewProcessors[string](2)
		for i, name := range []string{"a", "b", "c", "d"} {
			p.Begin(time.Duration(i), time.Duration(30-i)*ms/7, name)
		}
		p.End()
		return p
	}
	same := func(s string) string { return s }
	load := Save(busy(), same)
	again := NewProcessors[string](2)
	if err := Restore(again, load, func(s string) (string, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	what, when := ends(busy())
	if got, at := ends(again); !slices.Equal(got, what) || !slices.Equal(at, when) || len(got) != 4 {
		t.Errorf("%v end at %v, without a stop %v at %v", got, at, what, when)
	}
}

func TestSlowerProcessorsTakeLonger(t *testing.T) {
	costs := Costs{Gradient: 2 * ms, Encode: 5 * ms, Late: 3 * ms}
	want := Costs{Gradient: 3 * ms, Encode: 7500 * time.Microsecond, Late: 3 * ms}
	if got := costs.Times(1.5); got != want {
		t.Errorf("%v, want %v: being late is no work", got, want)
	}
}

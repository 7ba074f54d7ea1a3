package handshake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A message that ends a run is accepted only if it names a worker of the run, can be printed, and can
// be passed on.
func FuzzHalt(f *testing.F) {
	f.Add(EncodeStop(&StoppedError{Rank: 3, Reason: "the cat is on the keyboard"}), 8)
	f.Add(EncodeStop(&StoppedError{Rank: 3, Reason: "loss is NaN", Diverged: true}), 8)
	f.Add([]byte(`{"rank":-1,"reason":"\u001b[2J"}`), 8)
	f.Add([]byte(`{"rank":7,"reason":"\ud800"}`), 8)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		why, err := ParseStop(text, n)
		if err != nil {
			return
		}
		if why.Rank < 0 || int(why.Rank) >= n || Printable(why.Reason) != why.Reason {
			t.Fatalf("accepted %+v in a run of %d", why, n)
		}
		if again, err := ParseStop(EncodeStop(why), n); len(why.Reason) <= maxReason && (err != nil || *again != *why) {
			t.Fatalf("%+v became %+v (%v)", why, again, err)
		}
	})
}

func TestDifferencesAreShortened(t *testing.T) {
	raw := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"s": json.RawMessage(text)}
	}
	long := strings.Repeat("0,", 500)
	many := make([]string, 10)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	tests := map[string]struct{ mine, theirs, want string }{
		"one":      {`{"k":1}`, `{"k":2}`, "s.k is 1 here and 2 there"},
		"one side": {`{"k":1,"j":3}`, `{"k":1}`, "s.j is 3 here and not set there"},
		"long": {`[` + long + `1]`, `[` + long + `2]`,
			"s is ...0,0,0,0,0,0,0,0,0,0,0,0,1] here and ...0,0,0,0,0,0,0,0,0,0,0,0,2] there"},
		"many":      {`{"k":1}`, `{` + strings.Join(many, ",") + `}`, "; and 6 more"},
		"unfit":     {`{"k":1}`, `{"k":"\u001b[2J"}`, `s.k is 1 here and "\u001b[2J" there`},
		"unfit key": {`{}`, "{\"\\u001b[2J\":1}", "s.?[2J is not set here and 1 there"},
		"too long":  {``, ``, "section s of the run file differs"},
	}
	for name, test := range tests {
		mine, theirs := raw(test.mine), raw(test.theirs)
		if test.mine == "" {
			mine, theirs = nil, nil
		}
		got := describeDifferences([]string{"s"}, mine, theirs)
		if !strings.Contains(got, test.want) || len(got) > 800 {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// Differing sections of any size fit into a message, and both ends name the same ones.
func TestSettingsOfAnySizeCanBeTold(t *testing.T) {
	huge := []byte(`"` + strings.Repeat("x", maxSettings) + `"`)
	section := func(name, text string) Section { return Section{Name: name, JSON: []byte(text)} }
	h := &Hello{full: []Section{section("huge", string(huge)), section("small", "1"), section("alike", "2")}}
	h.Sections = sumsOf(h.full)
	theirs := sumsOf([]Section{section("huge", "0"), section("alike", "2"), section("new", "3")})
	names := differing(h.Sections, theirs)
	want := []string{"huge", "new", "small"}
	if !slices.Equal(names, want) || !slices.Equal(differing(theirs, h.Sections), want) {
		t.Errorf("differing: %v, want %v at both ends", names, want)
	}
	told := h.settings(names)
	text, err := json.Marshal(told)
	if err != nil || len(text) > maxSettings || len(told) != 1 || string(told["small"]) != "1" {
		t.Errorf("told %s (%v)", text, err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"train":{"batch":64}}`))
	f.Add([]byte(`{"train":null,"x":{"\u001b":[[]]}}`))
	mine := map[string]json.RawMessage{"train": json.RawMessage(`{"batch":32}`)}
	f.Fuzz(func(t *testing.T, text []byte) {
		theirs, err := parseSettings(text[:min(len(text), maxSettings)])
		if err != nil {
			return
		}
		said := describeDifferences([]string{"train"}, mine, theirs)
		if len(said) > mostNamed*16*widest || Printable(said) != said || bytes.ContainsAny([]byte(said), "\n\x1b") {
			t.Fatalf("unfit to print: %q", said)
		}
	})
}

func TestATwinIsToldFromOneThatComesBack(t *testing.T) {
	var timer DuplicateTimer
	no := Duplicated("worker 1")
	no.Remote = true
	if timer.Sure(no, time.Hour) {
		t.Error("sure at once")
	}
	timer.since = timer.since.Add(-3 * time.Hour)
	if !timer.Sure(no, time.Hour) {
		t.Error("not sure after three hours")
	}
	if timer.Sure(errors.New("no route"), time.Hour) || !timer.since.IsZero() {
		t.Error("another error means nothing")
	}
}

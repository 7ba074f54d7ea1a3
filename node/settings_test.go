package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"gossiptrainer/node/socket"
)

// Both ends name the machine, the key and both values, and what to do.
func TestADifferenceIsNamedWithBothValues(t *testing.T) {
	c := new(town)
	advice := "copy the files"
	first := join(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "alpha"
		o.Sections = append(o.Sections, Section{"data set", []byte(`{"rows":60000}`), advice})
	}))
	second := join(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "beta"
		o.Sections = append(o.Sections, Section{"data set", []byte(`{"rows":50000}`), advice})
	}))
	for _, end := range []struct {
		wait <-chan joined
		want []string
	}{
		{first, []string{"cannot work with beta (", "data set.rows is 60000 here and 50000 there"}},
		{second, []string{"cannot work with alpha (", "data set.rows is 50000 here and 60000 there"}},
	} {
		err := (<-end.wait).err
		for _, want := range end.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want it to say %q", err, want)
			}
		}
		hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if !ok || hinted.Hint() != advice {
			t.Errorf("error %v, want the hint %q", err, advice)
		}
	}
}

// Before the secret is proven a peer tells neither settings nor the name of its machine.
func TestAStrangerLearnsNoSettings(t *testing.T) {
	c := new(town)
	settle := func(host, secret, batch string) *Node {
		return c.settle(t, 2, func(o *Options) {
			o.Host, o.JoinSecret = host, secret
			o.Sections[1].JSON = []byte(`{"batch":` + batch + `}`)
		})
	}
	a, b := settle("alpha", "open sesame", "12345"), settle("beta", "open barley", "67890")
	join(t.Context(), a)
	join(t.Context(), b)
	for _, p := range []*Node{a, b} {
		eventually(t, "a refusal", func() bool { return p.Counters().Refused["refused join secret"] > 0 })
		p.roll.mu.Lock()
		said := p.roll.describe(time.Minute)
		p.roll.mu.Unlock()
		for _, secret := range []string{"alpha", "beta", "12345", "67890"} {
			if strings.Contains(said, secret) {
				t.Errorf("%q tells %q", said, secret)
			}
		}
	}
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
		"one":       {`{"k":1}`, `{"k":2}`, "s.k is 1 here and 2 there"},
		"one side":  {`{"k":1,"j":3}`, `{"k":1}`, "s.j is 3 here and not set there"},
		"long":      {`[` + long + `1]`, `[` + long + `2]`, "s is ...0,0,0,0,0,0,0,0,0,0,0,0,1] here and ...0,0,0,0,0,0,0,0,0,0,0,0,2] there"},
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

// What is told fits into a message, and both ends agree on which sections differ.
func TestSettingsOfAnySizeCanBeTold(t *testing.T) {
	huge := []byte(`"` + strings.Repeat("x", maxSettings) + `"`)
	h := &hello{full: []Section{{Name: "huge", JSON: huge}, {Name: "small", JSON: []byte("1")}, {Name: "alike", JSON: []byte("2")}}}
	h.Sections = sumsOf(h.full)
	theirs := sumsOf([]Section{{Name: "huge", JSON: []byte("0")}, {Name: "alike", JSON: []byte("2")}, {Name: "new", JSON: []byte("3")}})
	names := differing(h.Sections, theirs)
	if want := []string{"huge", "new", "small"}; !slices.Equal(names, want) || !slices.Equal(differing(theirs, h.Sections), want) {
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
		if len(said) > mostNamed*16*widest || printable(said) != said || bytes.ContainsAny([]byte(said), "\n\x1b") {
			t.Fatalf("unfit to print: %q", said)
		}
	})
}

// A peer that hears of no other for 20 seconds says what may keep them apart.
func TestAPeerThatIsAloneNamesMulticast(t *testing.T) {
	for name, sought := range map[string]map[peer.ID]bool{"alone": nil, "one was found": {"somebody": true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			r := &rollCall{me: hello{N: 2}, assembly: newAssembly("me", 2), began: time.Now(), sought: sought, changed: make(chan struct{})}
			var told []string
			r.members(ctx, func(_ int, detail string) { told = append(told, fmt.Sprint(time.Since(r.began), ": ", detail)) })
			want := []string{"0s: looking for peers", "10s: 1 of 2 peers are here", "20s: 1 of 2 peers are here"}
			if sought == nil {
				want[2] += "; heard of no other in 20s: " + apart
			}
			if !slices.Equal(told, want) {
				t.Errorf("%s: told %q, want %q", name, told, want)
			}
		})
	}
	if got := socket.Cause(&swarm.DialError{Cause: swarm.ErrNoAddresses}); !strings.Contains(got, "no address: the run file has none") {
		t.Errorf("a roster without addresses: %q", got)
	}
	for _, word := range []string{"firewall", "multicast", "peers:"} {
		if !strings.Contains(apart, word) {
			t.Errorf("%q does not name %s", apart, word)
		}
	}
}

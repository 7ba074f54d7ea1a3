package node

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Both ends name the machine, the key and both values, and give advice.
func TestADifferenceIsNamedWithBothValues(t *testing.T) {
	c := new(town)
	advice := "copy the files"
	first := joining(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "alpha"
		o.Sections = append(o.Sections, Section{Name: "data set", JSON: []byte(`{"rows":60000}`), Advice: advice})
	}))
	second := joining(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "beta"
		o.Sections = append(o.Sections, Section{Name: "data set", JSON: []byte(`{"rows":50000}`), Advice: advice})
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

// A peer tells neither settings nor the name of its machine before the other end has proven the
// secret.
func TestAStrangerLearnsNoSettings(t *testing.T) {
	c := new(town)
	settle := func(host, secret, batch string) *Node {
		return c.settle(t, 2, func(o *Options) {
			o.Host, o.JoinSecret = host, secret
			o.Sections[1].JSON = []byte(`{"batch":` + batch + `}`)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	peers := []*Node{settle("alpha", sesame, "12345"), settle("beta", barley, "67890")}
	waits := []<-chan joined{joining(ctx, peers[0]), joining(ctx, peers[1])}
	for _, p := range peers {
		eventually(t, "a refusal", func() bool { return p.counters().Refused["refused join secret"] > 0 })
	}
	cancel()
	for _, wait := range waits {
		said := (<-wait).err.Error()
		if !strings.Contains(said, "join secret differs") {
			t.Errorf("%q does not say why", said)
		}
		for _, secret := range []string{"alpha", "beta", "12345", "67890"} {
			if strings.Contains(said, secret) {
				t.Errorf("%q tells %q", said, secret)
			}
		}
	}
}

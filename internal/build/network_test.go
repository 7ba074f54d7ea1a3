package build

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

func TestLimitsBecomeLinks(t *testing.T) {
	cfg := configs.Default()
	cfg.Seed = 7
	cfg.Limit = configs.Limit{
		Rate: "100mbit", Burst: 1500, Latency: configs.Duration(time.Millisecond), Loss: 0.01,
		Links: map[string]configs.LinkLimit{"0-1": {Rate: "1kbit", Jitter: configs.Duration(2 * time.Millisecond)}},
	}
	run, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := shape.Network{
		Uplink: shape.Link{Rate: 100e6, Burst: 1500, Latency: time.Millisecond, Loss: 0.01},
		Links:  map[[2]topology.Rank]shape.Link{{0, 1}: {Rate: 1e3, Jitter: 2 * time.Millisecond}},
		Seed:   7,
	}
	if diff := cmp.Diff(want, run.Network()); diff != "" {
		t.Error("network of the run (- want, + got):\n" + diff)
	}
}

func TestLimitsThatFitNoEdge(t *testing.T) {
	for key, change := range map[string]func(l *configs.Limit){
		"limit.rate":      func(l *configs.Limit) { l.Rate = "fast" },
		"limit.links.0-2": func(l *configs.Limit) { l.Links = map[string]configs.LinkLimit{"0-2": {}} },
		"limit.links.0-":  func(l *configs.Limit) { l.Links = map[string]configs.LinkLimit{"0-": {}} },
		"limit.links.0-1.rate": func(l *configs.Limit) {
			l.Links = map[string]configs.LinkLimit{"0-1": {Rate: "1 parsec"}}
		},
	} {
		cfg := configs.Default()
		change(&cfg.Limit)
		_, err := experiment.New(cfg)
		if at := (*configs.Error)(nil); !errors.As(err, &at) || at.Problems[0].Key != key {
			t.Errorf("%s: error %v, want one at that key", key, err)
		}
	}
}

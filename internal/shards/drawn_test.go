package shards

import (
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
)

// The built-in digits are drawn once, and are those that their source draws. Wrong labels of one run are not in the
// next.
func TestTheBuiltInDigitsAreDrawnOnce(t *testing.T) {
	source, err := data.Open(builtIn, "")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := source.Train(nil)
	if err != nil {
		t.Fatal(err)
	}
	test, err := source.Test()
	if err != nil {
		t.Fatal(err)
	}
	cfg := configs.Default()
	for _, noise := range []float64{0.5, 0} {
		cfg.Data.LabelNoise = []float64{noise}
		d, err := Open(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := d.Shards(cfg.Topology.Size)
		if err != nil {
			t.Fatal(err)
		}
		tests, err := d.Tests()
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Partition()
		if err != nil {
			t.Fatal(err)
		}
		for rank, rows := range p.Shards {
			same := data.Fingerprint(all[rank], tests) == data.Fingerprint(whole.Subset(rows), test)
			if same != (noise == 0) {
				t.Errorf("noise %v: worker %d has the samples that the source draws: %v", noise, rank, same)
			}
		}
	}
}

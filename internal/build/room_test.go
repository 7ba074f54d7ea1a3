package build

import (
	"testing"

	"gossiptrainer/internal/forecast"
)

func TestWhatTheDataCannotGiveIsRefused(t *testing.T) {
	areFound(t, []mistake{
		{"a batch beyond the shard", []string{"train.batch=1501"}, "--set train.batch=1501",
			"each of 8 workers has about 1500 samples of glyphs: a batch must be at most 1500, got 1501"},
		{"a batch beyond a shard of one label", []string{"topology.size=2", "data.partition=labels", "train.batch=1201"},
			"--set",
			"each of 2 workers has about 1200 samples"},
		{"a batch that two of one label share", []string{"topology.size=20", "data.partition=labels", "train.batch=601"},
			"--set",
			"each of 20 workers has about 600 samples"},
		{"more workers than samples", []string{"topology.size=12001"}, "--set topology.size=12001",
			"glyphs has 12000 samples to train on: must be at most 12000 workers, got 12001"},
		{"workers for whom a batch is too large", []string{"topology.size=4000"}, "--set topology.size=4000",
			"a batch must be at most 3, got 32"},
	})
	assemble(t, "train.batch=1500")
	assemble(t, "topology.size=12001", "model.name=quadratic")
}

func TestMemoryGrowsWithModelAndBatch(t *testing.T) {
	small := assemble(t, "model.hidden=[8]")
	least := forecast.Memory(small)
	wide := assemble(t, "model.hidden=[800]")
	if got := forecast.Memory(wide); got < least+16*int64(wide.Dim()-small.Dim()) {
		t.Errorf("%d bytes for %d parameters, %d for %d", got, wide.Dim(), least, small.Dim())
	}
	if batch := assemble(t, "model.hidden=[8]", "train.batch=320"); forecast.Memory(batch) <= forecast.Memory(small) {
		t.Errorf("%d bytes for a batch of 320, %d for one of 32", forecast.Memory(batch), forecast.Memory(small))
	}
	// A model beyond all memory is assembled, so that it can be refused.
	if huge := assemble(t, "model={name: quadratic, dim: 1000000000}"); forecast.Memory(huge) != 24e9 {
		t.Errorf("%d bytes for a quadratic of 10^9 parameters, want 24 GB", forecast.Memory(huge))
	}
}

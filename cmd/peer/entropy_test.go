package main

import (
	"encoding/json"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
)

// Lossless is lossless: whatever codes the payloads, real peers and the simulator end with the parameters of a run that
// codes nothing.
func TestCodersChangeBytesAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	train := func(mode string, coder entropy.Coder) record.Summary {
		t.Helper()
		cmd := s.command(mode, "ring8", "--json", "--quiet", "--set", "topology.size=3", "--set", "train.rounds=8", "--set",
			"model.hidden=[32]",
			"--set", "algorithm.bits=3", "--set", "algorithm.theta.rule=fixed", "--set", "algorithm.theta.value=1", "--set",
			"wire.entropy="+coder.String())
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s with %v: %v", mode, coder, err)
		}
		var sum record.Summary
		if err := json.Unmarshal(text, &sum); err != nil {
			t.Fatal(err)
		}
		if sum.Entropy != coder.String() {
			t.Errorf("%s with %v: the summary says %q", mode, coder, sum.Entropy)
		}
		return sum
	}
	plain := train("sim", entropy.Plain)
	if plain.Effective < 3 || plain.Effective > 3.2 {
		t.Errorf("%v bits a parameter of symbols of 3 bits", plain.Effective)
	}
	coded := map[string][]entropy.Coder{
		"sim": {entropy.Huff0, entropy.FSE, entropy.Zstd, entropy.Bzip2},
		"lab": {entropy.Huff0, entropy.Zstd},
	}
	if raced() { // its coders run in one goroutine of a worker
		coded = map[string][]entropy.Coder{"lab": {entropy.Huff0}}
	}
	for mode, coders := range coded {
		for _, coder := range coders {
			got := train(mode, coder)
			if got.Digest != plain.Digest {
				t.Errorf("%s with %v: digest %.8s, want %.8s", mode, coder, got.Digest, plain.Digest)
			}
			if got.BytesPerPeer.Payload != plain.BytesPerPeer.Payload || got.BytesPerPeer.Wire >= plain.BytesPerPeer.Payload ||
				got.Effective > 2 {
				t.Errorf("%s with %v: %+v, %.2f bits a parameter; without coding %+v", mode, coder, got.BytesPerPeer, got.Effective,
					plain.BytesPerPeer)
			}
		}
	}
}

package build

import (
	"bytes"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// Messages of all algorithms match their layouts, and survive an entropy coder unchanged.
func TestPayloadsAreCutAsTheirLayoutsSay(t *testing.T) {
	for name, set := range map[string][]string{
		"moniqua":             nil,
		"moniqua, 3 bit":      {"algorithm.bits=3"},
		"moniqua, 100 levels": {"algorithm.levels=100"},
		"moniqua, 12 bit":     {"algorithm.bits=12", "algorithm.theta.rule=measured"},
		"full precision":      {"algorithm.bits=32"},
		"d2":                  {"algorithm.name=d2", "topology.slack=0.9"},
		"all-reduce":          {"algorithm.name=allreduce", "algorithm.codec=full"},
		"ad-psgd": {"algorithm.name=adpsgd", "algorithm.theta.rule=fixed", "algorithm.theta.value=0.5",
			"algorithm.theta.verify=false"},
		"ad-psgd, verified": {"algorithm.name=adpsgd"},
		"all-gather, terngrad": {"algorithm.name=allreduce", "algorithm.reduce=allgather", "algorithm.codec=full",
			"algorithm.compressor.name=terngrad"},
		"server, alq": {"algorithm.name=allreduce", "algorithm.reduce=server", "algorithm.codec=full",
			"algorithm.compressor.name=alq"},
		"ad-psgd, full": {"algorithm.name=adpsgd", "algorithm.bits=32"},
		"choco, qsgd": {"algorithm.name=choco", "algorithm.codec=full", "algorithm.compressor.bits=3",
			"algorithm.compressor.scaled=true"},
		"choco, sign":     {"algorithm.name=choco", "algorithm.codec=full", "algorithm.compressor.name=sign"},
		"choco, top-k":    {"algorithm.name=choco", "algorithm.codec=full", "algorithm.compressor.name=topk"},
		"moniqua, mqgrad": {"algorithm.controller.name=mqgrad"},
		"choco, alq, mqgrad": {"algorithm.name=choco", "algorithm.codec=full",
			"algorithm.compressor={name: alq, scaled: true}", "algorithm.controller.name=mqgrad"},
		"server, oland-raj": {"algorithm.name=allreduce", "algorithm.reduce=server", "algorithm.codec=full",
			"algorithm.controller.name=oland-raj"},
		"deepsqueeze, min-max": {"algorithm.name=deepsqueeze", "algorithm.codec=full", "algorithm.compressor.name=minmax"},
	} {
		t.Run(name, func(t *testing.T) {
			r := assemble(t, append(append(set, quick...), "topology.size=4")...)
			encoder, err := entropy.NewEncoder(entropy.Huff0, entropy.Costs{})
			if err != nil {
				t.Fatal(err)
			}
			all, seen := workers(t, r), 0
			for _, w := range all {
				cut := w.Coding.Layout
				w.Coding.Layout = func(f gossip.Frame) quant.Layout {
					l := cut(f)
					if l != quant.Bytes(len(f.Payload)) {
						seen++
					}
					roundTrip(t, encoder, f.Payload, l)
					return l
				}
			}
			simulate(t, r, all)
			if want := r.Config().Train.Rounds; seen < int(want) {
				t.Errorf("the layout of %d messages is known, want at least %d", seen, want)
			}
		})
	}
}

func roundTrip(t *testing.T, e *entropy.Encoder, payload []byte, l quant.Layout) {
	t.Helper()
	coded, by, err := e.Encode(nil, payload, l, 0)
	if err != nil {
		t.Fatalf("%+v: %v", l, err)
	}
	if by == entropy.Plain {
		return
	}
	back := make([]byte, len(payload))
	if err := new(entropy.Decoder).Decode(back, by, coded); err != nil || !bytes.Equal(back, payload) {
		t.Fatalf("%+v: %v, or another payload", l, err)
	}
}

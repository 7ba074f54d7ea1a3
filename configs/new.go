package configs

import (
	"strings"

	"gossiptrainer/internal/registry"
)

// NewRun returns a run file to begin with.
func NewRun() []byte {
	return []byte(`# What this run is about.
name: my-run

topology: {kind: ring, size: 8}  # or torus {rows, cols}, complete, star, path, exponential, hypercube, edges {file}
algorithm:
  name: dpsgd                    # or ` + strings.Join(registry.Names(nil)[1:], ", ") + `
  bits: 8                        # per parameter; 32 = full precision
data: {name: glyphs}             # built in; fashion-mnist, cifar-10, ... need "peer data fetch", file is your own
model: {name: mlp, hidden: [64]}
train: {rounds: 300, batch: 32, step_size: 0.05}
# limit: {rate: 100mbit, latency: 1ms}
# All other keys: peer config reference
`)
}

// NewComparison returns a comparison file to begin with.
func NewComparison() []byte {
	return []byte(`# What this comparison is about.
name: my-comparison
base: ring8       # preset or path of the run file from which every cell starts
mode: sim         # or lab: real peers on this machine
compute: 20ms     # time of a gradient in sim; left out = measured; measured = coding and links take time, too
networks:
  - {name: 100 Mbit/s, rate: 100mbit, latency: 1ms}
  - {name: 1 Mbit/s, rate: 1mbit, latency: 1ms}
algorithms:
  - {label: D-PSGD, name: dpsgd, bits: 32}
  - {label: Moniqua 8b, name: dpsgd, bits: 8}
  - {label: DCD 8b, name: dcd, bits: 8}
  - {label: Choco sign, name: choco, gamma: "tune(0.1, 0.3, auto)", compressor: {name: sign}}
seeds: [1, 2, 3]
budget: {rounds: 200}
report: {targets: {loss: 0.5}}
# All keys: peer config reference comparison
`)
}

package main

import "strings"

// preset is the situation that all rows share.
const preset = "ring8-fashion"

// A row is one run: the preset with some settings changed.
type row struct {
	name     string
	settings []string // key=value
}

// command returns the arguments of peer.
func (r row) command() []string {
	args := []string{"lab", preset, "--json"}
	for _, s := range r.settings {
		args = append(args, "--set", s)
	}
	return args
}

// rows are the runs of the table. D² needs slack, because it needs all eigenvalues of the mixing matrix above −1/3,
// which is the least eigenvalue of a ring of eight. The coarser a compressor, the smaller its consensus step γ.
func rows() []row {
	full := "bits=32"
	sign, topK := "compressor.name=sign", "compressor.name=topk compressor.ratio=0.01"
	minmax, coarse := "compressor.name=minmax compressor.bits=8", "compressor.name=minmax compressor.bits=1"
	qsgd := "compressor.name=qsgd compressor.bits=2"
	linear, unbiased := "compressor.name=linear", "compressor.mode=stochastic"
	return []row{
		{"D-PSGD 32 bit", algorithm("dpsgd", full)},
		{"AllReduce 32 bit", algorithm("allreduce")},
		{"AllReduce QSGD 4 bit all-gather", algorithm("allreduce", "reduce=allgather compressor.bits=4")},
		{"AllReduce sign + feedback", algorithm("allreduce", "reduce=allgather error_feedback=true", sign)},
		{"server minmax 4 bit", algorithm("allreduce", "reduce=server compressor.name=minmax compressor.bits=4", unbiased)},
		{"Moniqua 8 bit", nil},
		{"Moniqua 8 bit, not verified", algorithm("dpsgd", "theta.rule=certified theta.verify=false")},
		{"Moniqua 4 bit", algorithm("dpsgd", "bits=4")},
		{"Moniqua 1 bit, slack 0.1", append(algorithm("dpsgd", "bits=1"), "topology.slack=0.1")},
		{"D² 32 bit, slack 0.9", append(algorithm("d2", full), "topology.slack=0.9")},
		{"Moniqua-D² 8 bit, slack 0.9", append(algorithm("d2"), "topology.slack=0.9")},
		{"ChocoSGD sign, γ 0.3", algorithm("choco", sign, "gamma=0.3")},
		{"ChocoSGD top 1 %, γ 0.2", algorithm("choco", topK, "gamma=0.2")},
		{"ChocoSGD top 1 %, γ 0.05", algorithm("choco", topK, "gamma=0.05")},
		{"DeepSqueeze min-max 8 bit, γ 0.5", algorithm("deepsqueeze", minmax, "gamma=0.5")},
		{"DCD min-max 8 bit", algorithm("dcd", minmax, unbiased)},
		{"DCD min-max 1 bit", algorithm("dcd", coarse, unbiased)},
		{"DCD QSGD 2 bit", algorithm("dcd", qsgd)},
		{"ECD linear, step 0.001", algorithm("ecd", linear, "compressor.step=0.001", unbiased)},
		{"ECD min-max 1 bit", algorithm("ecd", coarse, unbiased)},
		{"ECD QSGD 2 bit", algorithm("ecd", qsgd)},
		{"naive linear, step 0.01", algorithm("naive", linear, "compressor.step=0.01")},
		{"AD-PSGD 32 bit", algorithm("adpsgd", full)},
		{"Moniqua-AD 8 bit", algorithm("adpsgd")},
	}
}

// algorithm returns settings of the section algorithm. Each argument may hold several, separated by spaces.
func algorithm(name string, settings ...string) []string {
	keys := []string{"algorithm.name=" + name}
	for _, s := range strings.Fields(strings.Join(settings, " ")) {
		keys = append(keys, "algorithm."+s)
	}
	return keys
}

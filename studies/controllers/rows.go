package main

// base are the settings that all rows share. They follow the MQGrad paper: a server and workers, four in all, the
// min-max quantizer both ways, and a model of about 270,000 parameters.
func base() []string {
	return []string{
		"name=controllers",
		"topology.size=4",
		"algorithm={name: allreduce, reduce: server, compressor: {name: minmax, bucket: 8192}}",
		"data.name=fashion-mnist",
		"model.hidden=[256, 256]",
		"train={batch: 32, step_size: 0.1, momentum: 0, schedule: constant}",
		"limit.rate=80mbit",
	}
}

// A row is one way to choose the bits.
type row struct {
	name     string
	settings []string // key=value
}

func rows() []row {
	return []row{
		{"Fix-2", []string{"algorithm.compressor.bits=2"}},
		{"Fix-4", []string{"algorithm.compressor.bits=4"}},
		{"Fix-8", []string{"algorithm.compressor.bits=8"}},
		{"Øland-Raj", []string{"algorithm.controller={name: oland-raj, min_bits: 2, max_bits: 8}"}},
		{"MQGrad", []string{"algorithm.controller={name: mqgrad, min_bits: 2, max_bits: 8}"}},
	}
}

package session

import (
	"errors"
	"strings"
	"testing"

	"gossiptrainer/configs"
)

func TestRunsThatCannotWorkAreRefused(t *testing.T) {
	const gigabyte = 1e9
	for _, test := range []struct {
		mode string
		set  []string
		key  string
		want string // "" = it fits
	}{
		{"lab", []string{"topology.size=1001", "model.name=quadratic"}, "topology.size",
			"must be at most 1000 in a lab, where every peer is a process, got 1001"},
		{"sim", []string{"topology.size=1001", "model.name=quadratic"}, "", ""},
		{"lab", []string{"topology.size=60", "model.name=quadratic"}, "topology.size",
			"60 workers with 100 parameters must fit into memory: 1 GB are left, 1.26 GB"},
		{"run", []string{"topology.size=60", "model.name=quadratic"}, "", ""},
		{"sim", []string{"model={name: quadratic, dim: 1000000000}"}, "model.dim",
			"8 workers with 1000000000 parameters must fit"},
		{"run", []string{"model={name: quadratic, dim: 1000000000}"}, "model.dim", "a worker with 1000000000 parameters"},
		{"run", []string{"model.hidden=[65536, 65536, 65536]"}, "model.hidden", "a worker with 8642166794 parameters"},
		{"sim", []string{"model.name=external"}, "model.name", "your own script trains an external model"},
		{"lab", []string{"model.name=external"}, "", ""},
		{"lab", []string{"limit.latency=2s"}, "limit.latency",
			"must be at most 1.2s with its jitter for real peers, whose handshakes take too long else, got 2s"},
		{"run", []string{"limit.latency=1s", "limit.jitter=500ms"}, "limit.latency", "got 1.5s"},
		{"lab", []string{"limit.rate=15kbit"}, "limit.rate", "must be at least 20kbit"},
		{"lab", []string{"limit.links.0-1.rate=1kbit"}, "limit.links.0-1.rate", "must be at least 20kbit"},
		{"lab", []string{"limit.latency=1.2s", "limit.rate=20kbit"}, "", ""},
		{"sim", []string{"limit.latency=2s", "limit.rate=1kbit"}, "", ""},
		{"lab", []string{"limit.latency=1ms", "node.transport=quic"}, "limit",
			"real peers keep limits over tcp only, but node.transport is quic"},
		{"run", []string{"limit.links.0-1.rate=1mbit", "node.transport=quic"}, "limit", "limits over tcp only"},
		{"sim", []string{"limit.latency=1ms", "node.transport=quic"}, "", ""},
		{"lab", []string{"faults.script=[{at: 1, slow: 0, by: 2}, {at: 2, rate: 1mbit, of: 0}]", "node.transport=quic"},
			"faults.script.1.rate", "real peers keep a rate over tcp only, but node.transport is quic"},
		{"lab", []string{"faults.script=[{at: 1, slow: 0, by: 2}]", "node.transport=quic"}, "", ""},
		{"lab", []string{"faults.script=[{at: 2, rate: 1mbit, of: 0}]"}, "", ""},
		{"sim", []string{"faults.script=[{at: 2, rate: 1mbit, of: 0}]", "node.transport=quic"}, "", ""},
	} {
		loaded, err := configs.Load(configs.Source{Set: test.set})
		if err != nil {
			t.Fatal(err)
		}
		run, err := Assemble(loaded)
		if err != nil {
			t.Fatal(err)
		}
		err = loaded.Locate(fits(run, test.mode, gigabyte))
		var e *configs.Error
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s of %v: %v", test.mode, test.set, err)
		case test.want != "" && (!errors.As(err, &e) || !strings.Contains(e.Problems[0].Message, test.want)):
			t.Errorf("%s of %v: error %v, want %q", test.mode, test.set, err, test.want)
		case test.want != "" && (e.Problems[0].Hint == "" ||
			!strings.HasPrefix(e.Problems[0].Source, "--set "+strings.Split(test.key, ".")[0])):
			t.Errorf("%s of %v: %+v does not name %s and a way out", test.mode, test.set, e.Problems[0], test.key)
		}
	}
}

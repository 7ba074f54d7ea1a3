package build

import (
	"strings"
	"testing"

	"gossiptrainer/topology"
)

// All-reduce runs on a graph of its own, whatever graph the run file names.
func TestReductionsHaveTheirOwnGraphs(t *testing.T) {
	tests := []struct {
		reduce, spec string
		edges        int
		hears, tells int // worker 0
		payload      int // of 100 parameters, as minmax of 4 bits
	}{
		{"ring", "ring:6", 6, 1, 1, 4 * 17},
		{"allgather", "complete:6", 15, 5, 5, 8 + 50},
		{"server", "star:6", 5, 5, 5, 8 + 50},
	}
	for _, test := range tests {
		base := []string{
			"topology.kind=torus", "topology.rows=2", "topology.cols=3", "topology.slack=0.5",
			"algorithm.compressor.name=minmax", "algorithm.compressor.bits=4", "algorithm.compressor.mode=stochastic",
		}
		r := over(t, base, "algorithm.name=allreduce", "algorithm.reduce="+test.reduce, "model={name: quadratic, dim: 100}",
			"train.rounds=2")
		g, row := r.Graph(), r.Rows()[0].At(0)
		if g.Spec().String() != test.spec || g.Spec().Slack != 1 || len(g.Edges()) != test.edges {
			t.Errorf("%s: on %s with slack %v and %d edges, want %s with 1 and %d", test.reduce, g.Spec(), g.Spec().Slack,
				len(g.Edges()), test.spec, test.edges)
		}
		if len(row.In) != test.hears || len(row.Out) != test.tells {
			t.Errorf("%s: worker 0 hears %d and tells %d", test.reduce, len(row.In), len(row.Out))
		}
		w, err := New(r, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.MaxPayload != test.payload {
			t.Errorf("%s: payloads of %d bytes, want %d", test.reduce, w.MaxPayload, test.payload)
		}
	}
}

// score.Replicas of an all-reduce stay equal, bit for bit. Every worker draws its own random numbers, the server twice.
func TestReducedReplicasAreEqual(t *testing.T) {
	for _, reduce := range []string{"ring", "allgather", "server"} {
		r := assemble(t, "algorithm.name=allreduce", "algorithm.reduce="+reduce, "model={name: quadratic, dim: 200}",
			"train.rounds=5", "topology.size=4")
		res := drive(t, r, workers(t, r), 1)
		for i := range res.Finals {
			if res.Finals[i].Digest != res.Finals[0].Digest {
				t.Errorf("%s: worker %d ends elsewhere than worker 0", reduce, i)
			}
		}
	}
	r := assemble(t, "algorithm={name: allreduce, reduce: server}", "topology.size=3", "model.name=quadratic")
	z := make([]float32, r.Dim())
	for c := range z {
		z[c] = float32(c%7) / 6
	}
	seen := map[string]topology.Rank{}
	for i := range topology.Rank(4) {
		c, err := r.Compressors().Make(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		if j, twice := seen[string(payload)]; twice {
			t.Errorf("streams %d and %d are the same", i, j)
		}
		seen[string(payload)] = i
	}
}

func TestReductionsSayWhatDoesNotSuitThem(t *testing.T) {
	tests := []struct {
		set  []string
		want string
	}{
		{[]string{"algorithm={name: allreduce, reduce: allgather, compressor: {name: sign}}"},
			"allreduce with sign: a biased compressor loses a part of every gradient for ever: set algorithm.error_feedback: " +
				"true"},
		{[]string{"algorithm={name: allreduce, reduce: allgather, error_feedback: true}"},
			"set algorithm.compressor.scaled: true"},
		{[]string{"algorithm={name: allreduce, reduce: server, compressor: {name: minmax}}"},
			"set algorithm.compressor.mode: stochastic"},
		{[]string{"algorithm={name: allreduce, reduce: server, error_feedback: true, compressor: {name: sign}}"},
			"a biased compressor moves the mean of the models: take "},
		{[]string{"algorithm={name: allreduce, reduce: server, error_feedback: true}"},
			"set algorithm.error_feedback: false"},
		{[]string{"algorithm.name=allreduce"}, ""},
		{[]string{"algorithm={name: allreduce, reduce: server, error_feedback: true, compressor: {name: full}}"}, ""},
		{[]string{"algorithm={name: allreduce, reduce: allgather, error_feedback: true, compressor: {name: minmax}}"}, ""},
		{[]string{"algorithm={name: allreduce, reduce: allgather, error_feedback: true, compressor: {name: sign}}"}, ""},
	}
	for _, test := range tests {
		got := strings.Join(assemble(t, test.set...).Warnings(), "\n")
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v: warnings %q, want %q", test.set, got, test.want)
		}
	}
}

func TestMistakesOfReductionsAreFoundAtTheirKeys(t *testing.T) {
	areFound(t, []mistake{
		{"an all-gather of too many", []string{"algorithm={name: allreduce, reduce: allgather}", "topology.size=5000",
			"train.batch=1"}, "--set topology.size=5000", "complete"},
		{"a limit on an edge that the star lacks", []string{"algorithm={name: allreduce, reduce: server}",
			"limit.links.1-2.rate=1mbit"}, "--set limit.links.1-2.rate", "workers 1 and 2 are not neighbours in star:8"},
		{"more coordinates than there are",
			[]string{"algorithm={name: allreduce, reduce: allgather, compressor: {name: topk, k: 101}}", "model.name=quadratic"},
			"--set", "topk cannot send 101"},
	})
}

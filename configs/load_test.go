package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// load writes text to a run file and loads it with the arguments of --set.
func load(t testing.TB, text string, set ...string) (*Loaded, error) {
	t.Helper()
	return loadSource(t, text, Source{Set: set})
}

// loadSource loads src with a run file of that text.
func loadSource(t testing.TB, text string, src Source) (*Loaded, error) {
	t.Helper()
	src.File = filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(src.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(src)
}

func mustLoad(t testing.TB, text string, set ...string) *Loaded {
	t.Helper()
	l, err := load(t, text, set...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func problems(t testing.TB, err error) []Problem {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("want a *configs.Error, got %v", err)
	}
	return e.Problems
}

func TestTheListingInTheDesignLoads(t *testing.T) {
	l, err := Load(Source{File: "testdata/complete.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name = "ring8-fashion"
	want.Data.Name = "fashion-mnist"
	want.Model.Hidden = []int{128}
	want.Train.Rounds = 600
	want.Topology.Slack = 1                         // since then auto has become the default
	want.Algorithm.Theta = Theta{Rule: "certified"} // since then adaptive has become the default
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("complete.yaml (-want +got):\n%s", diff)
	}
}

func TestBadFiles(t *testing.T) {
	const id = "12D3KooWGRUVh7Td3LVZKQYvkkqsTW6iRvNqYcEAP4hPwbFSB8sN"
	tests := []struct {
		name, text   string
		line, column int
		want         string // in the message or the hint
	}{
		{"unknown key", "name: x\ntopolgy: {}\n", 2, 1, "did you mean topology?"},
		{"unknown nested key", "topology:\n  kind: ring\n  sise: 8\n", 3, 3, "did you mean size?"},
		{"unknown key in a flow section", "topology: {kind: ring, sise: 8}\n", 1, 24,
			"unknown key; topology has kind, size,"},
		{"dotted key", "topology.kind: ring\n", 1, 1, "unknown key"},
		{"a list of texts for numbers", "model: {hidden: [a, b, c, d, e, f]}\n", 1, 18,
			"model.hidden.0: must be a whole number, got text"},
		{"text for a number", "topology: {size: many}\n", 1, 18, "must be a whole number, got text"},
		{"fraction for a whole number", "topology: {size: 7.5}\n", 1, 18, "must be a whole number, got a number"},
		{"number for a text", "data: {dir: 8}\n", 1, 13, "put it in quotes"},
		{"number for a duration", "limit: {latency: 5}\n", 1, 18, "must have a unit, as 5ms or 5s"},
		{"a fraction for a duration", "limit: {latency: 0.5}\n", 1, 18, "write it like 1.5ms"},
		{"list for a section", "topology: [ring]\n", 1, 11, "must be a section, got a list"},
		{"section without content", "train:\n", 1, 1, "must be a section, got nothing"},
		{"value out of its enumeration", "topology: {kind: rign}\n", 1, 18, "did you mean ring?"},
		{"a codec for an algorithm", "algorithm: {name: moniqua}\n", 1, 19,
			"hint: moniqua is a value of algorithm.codec, not of algorithm.name"},
		{"bits between 16 and 32", "algorithm: {bits: 17}\n", 1, 19, "must be one of 1 to 16, 32, got 17"},
		{"bits 0", "algorithm: {bits: 0}\n", 1, 19, "must be one of 1 to 16, 32, got 0"},
		{"slack 0", "topology: {slack: 0}\n", 1, 19, "must be above 0, got 0"},
		{"slack above 1", "topology: {slack: 1.5}\n", 1, 19, "must be at most 1, got 1.5"},
		{"slack that is another word", "topology: {slack: atuo}\n", 1, 19, "must be like auto or 0.5, got \"atuo\""},
		{"gamma that is a list", "algorithm: {gamma: [1]}\n", 1, 20, "must be a number, got a list"},
		{"size 0", "topology: {size: 0}\n", 1, 18, "must be at least 1, got 0"},
		{"a size beyond 64 bit", "topology: {size: 99999999999999999999}\n", 1, 18, "must be at most 1048576"},
		{"batch 0", "train: {batch: 0}\n", 1, 16, "must be at least 1"},
		{"momentum 1", "train: {momentum: 1}\n", 1, 19, "must be below 1, got 1"},
		{"step size 0", "train: {step_size: 0}\n", 1, 20, "must be above 0"},
		{"negative step size in scientific notation", "train: {step_size: -1e-3}\n", 1, 20, "must be above 0, got -0.001"},
		{"infinite step size", "train: {step_size: .inf}\n", 1, 20, "must be a finite number"},
		{"step size too large for a float", "train: {step_size: 1e999}\n", 1, 20, "must be a finite number"},
		{"theta 0", "algorithm: {theta: {rule: fixed, value: 0}}\n", 1, 41, "above 0"},
		{"theta fixed without value", "algorithm: {theta: {rule: fixed}}\n", 1, 27, "above 0"},
		{"theta negative", "algorithm: {theta: {rule: fixed, value: -2}}\n", 1, 41, "must be at least 0, got -2"},
		{"theta NaN", "algorithm: {theta: {rule: fixed, value: .nan}}\n", 1, 41, "must be a finite number"},
		{"theta NaN as text", "algorithm: {theta: {rule: fixed, value: NaN}}\n", 1, 41, "must be a number, got text"},
		{"theta without its rule", "algorithm: {theta: {value: 2}}\n", 1, 28,
			"it is a setting of fixed, but algorithm.theta.rule is adaptive"},
		{"stochastic rounding with 1 bit", "algorithm: {bits: 1, rounding: stochastic}\n", 1, 32, "at least 3 levels"},
		{"shared rounding with 1 bit", "algorithm: {rounding: shared, bits: 1}\n", 1, 23, "use dither or nearest"},
		{"shared rounding with 2 levels", "algorithm: {rounding: shared, levels: 2}\n", 1, 23, "use dither or nearest"},
		{"1 level", "algorithm: {levels: 1}\n", 1, 21, "must be 2 to 65536"},
		{"bits and levels that differ", "algorithm: {bits: 4, levels: 5}\n", 1, 30, "5 levels need 3 bits, but bits is 4"},
		{"a quantized all-reduce", "algorithm: {name: allreduce, codec: moniqua}\n", 1, 37,
			"allreduce sends no models by a codec"},
		{"an all-reduce of no kind", "algorithm: {name: allreduce, reduce: all-gather}\n", 1, 38, "did you mean allgather?"},
		{"a server of dpsgd", "algorithm: {name: dpsgd, reduce: server}\n", 1, 34,
			"it is a setting of allreduce, but algorithm.name is dpsgd"},
		{"error feedback of choco", "algorithm: {name: choco, error_feedback: true}\n", 1, 42,
			"it is a setting of allreduce, but algorithm.name is choco"},
		{"error feedback in full precision", "algorithm: {name: allreduce, error_feedback: true}\n", 1, 46,
			"the reduce ring of allreduce sends full precision"},
		{"error feedback that is a number", "algorithm: {name: allreduce, reduce: allgather, error_feedback: 1}\n", 1, 65,
			"must be true or false, got a number"},
		{"an unknown model", "model: {name: vgg12}\n", 1, 15, "must be one of quadratic, logistic"},
		{"a codec under choco", "algorithm: {name: choco, codec: moniqua, compressor: {name: sign}}\n", 1, 33,
			"hint: algorithm.compressor.name chooses the compressor of choco"},
		{"the theorem under d2", "algorithm: {name: d2, theta: {rule: theorem}}\n", 1, 37, "no constants for d2"},
		{"adaptive without verification", "algorithm: {theta: {verify: false}}\n", 1, 29, "learns from verification"},
		{"local steps of dcd", "algorithm: {name: dcd, local_steps: 2, compressor: {name: linear}}\n", 1, 37,
			"must be 1, got 2"},
		{"no local step", "algorithm: {local_steps: 0}\n", 1, 26, "must be at least 1"},
		{"a gamma of 0", "algorithm: {gamma: 0}\n", 1, 20, "must be above 0, got 0"},
		{"a gamma above 1", "algorithm: {gamma: 1.5}\n", 1, 20, "must be at most 1, got 1.5"},
		{"1 bit for qsgd", "algorithm: {name: ecd, compressor: {bits: 1}}\n", 1, 43, "qsgd needs 2 to 8 bits, got 1"},
		{"qsgd of the bits of minmax", "algorithm: {name: choco, compressor: {bits: 12, name: qsgd}}\n", 1, 45,
			"qsgd needs 2 to 8 bits, got 12"},
		{"a compressor that nobody knows", "algorithm: {compressor: {name: top}}\n", 1, 32, "did you mean topk?"},
		{"a norm", "algorithm: {compressor: {norm: l1}}\n", 1, 32, "must be one of l2, linf"},
		{"clipping at less than nothing", "algorithm: {compressor: {clip: -2.5}}\n", 1, 32, "must be at least 0, got -2.5"},
		{"1 bit for nuqsgd", "algorithm: {name: choco, compressor: {name: nuqsgd, bits: 1}}\n", 1, 59,
			"nuqsgd needs 2 to 8 bits, got 1"},
		{"9 bits for amq", "algorithm: {name: choco, compressor: {name: amq, bits: 9}}\n", 1, 56,
			"amq needs 2 to 8 bits, got 9"},
		{"a fit before the start", "algorithm: {name: choco, compressor: {name: alq, refit_at: [100, -1]}}\n", 1, 60,
			"the levels cannot be fitted in round -1: rounds count from 0"},
		{"2 levels for orq", "algorithm: {name: choco, compressor: {name: orq, levels: 2}}\n", 1, 58,
			"orq needs 3 to 256 levels, got 2"},
		{"4 levels for qsgd", "algorithm: {name: choco, compressor: {levels: 4}}\n", 1, 47,
			"qsgd needs an odd number of levels, 3 to 255, for one is 0; or 0 for 2^bits − 1: got 4"},
		{"5 levels for amq", "algorithm: {name: choco, compressor: {name: amq, levels: 5}}\n", 1, 58,
			"amq without a level 0 needs an even number of levels, 4 to 256, or 0 for 2^bits: got 5"},
		{"levels and other bits", "algorithm: {name: choco, compressor: {levels: 5, bits: 4}}\n", 1, 47,
			"5 levels need 3 bits, but bits is 4: give one of the two"},
		{"levels for sign", "algorithm: {name: choco, compressor: {name: sign, levels: 5}}\n", 1, 59,
			"but algorithm.compressor.name is sign"},
		{"levels without a table", "algorithm: {name: choco, compressor: {name: levels}}\n", 1, 45,
			"a table of 0 levels: must be 2 to 128"},
		{"a table for magnitudes that is signed", "algorithm: {name: choco, compressor: {name: levels, table: [-1, 1]}}\n", 1,
			60, "a table from -1 to 1: must be from 0 to 1"},
		{"a table that descends",
			"algorithm: {name: choco, compressor: {name: levels, variant: sym, table: [-1, 0.5, 0, 1]}}\n", 1, 74,
			"level 0.5 before 0: must be ascending"},
		{"a table for qsgd", "algorithm: {name: choco, compressor: {table: [0, 1]}}\n", 1, 46,
			"it is a setting of levels, but algorithm.compressor.name is qsgd"},
		{"a threshold", "algorithm: {compressor: {rule: median}}\n", 1, 32, "must be one of mean, lloyd"},
		{"a ratio above 1", "algorithm: {compressor: {ratio: 2}}\n", 1, 33, "must be at most 1, got 2"},
		{"two join secrets", "node: {join_secret: a, join_secret_file: b}\n", 1, 42, "there is one join secret"},
		{"metrics without a port", "node: {metrics: localhost}\n", 1, 17, "must be host:port"},
		{"a dead neighbour noticed at once", "node: {detect: 10ms}\n", 1, 16, "must be 1s to 10m, got 10ms"},
		{"entropy coder", "wire: {entropy: zsdt}\n", 1, 17, "zstd"},
		{"checkpoints", "checkpoint: {keep: 0}\n", 1, 20, "must be at least 1, got 0"},
		{"reweighting of memories", "algorithm: {name: choco, codec: full}\nfaults: {on_lost_neighbor: reweight}\n", 2, 28,
			"choco keeps a replica of every neighbour"},
		{"reweighting of D2", "algorithm: {name: d2}\nfaults: {on_lost_neighbor: reweight}\n", 2, 28,
			"d2 corrects by the last round's W"},
		{"reweighting of a reduction", "algorithm: {name: allreduce, codec: full}\nfaults: {on_lost_neighbor: reweight}\n", 2,
			28, "allreduce needs all workers"},
		{"reweighting with bits that change",
			"algorithm: {controller: {name: oland-raj}}\nfaults: {on_lost_neighbor: reweight}\n", 2, 28,
			"bits are agreed on by all workers"},
		{"reweighting unverified",
			"faults: {on_lost_neighbor: reweight}\nalgorithm: {theta: {rule: fixed, value: 1, verify: false}}\n", 2, 52,
			"must be true with the policy reweight"},
		{"reweighting of a star with a certificate",
			"topology: {kind: star}\nalgorithm: {theta: {rule: certified}}\nfaults: {on_lost_neighbor: reweight}\n", 3, 28,
			"no certificate for what remains of a star"},
		{"torus without sides", "topology: {kind: torus}\n", 1, 18, "a torus needs rows and cols"},
		{"torus whose size is not its sides", "topology: {kind: torus, rows: 4, cols: 4, size: 8}\n", 1, 49,
			"has 16 workers, but the size is 8"},
		{"sides of a ring", "topology: {kind: ring, rows: 4}\n", 1, 30,
			"it is a setting of torus, but topology.kind is ring"},
		{"hypercube of 6", "topology: {kind: hypercube, size: 6}\n", 1, 35, "1, 2, 4, 8"},
		{"edges without a file", "topology: {kind: edges}\n", 1, 18, "the kind edges needs a file of edges"},
		{"a file without edges", "topology: {file: x}\n", 1, 18, "it is a setting of edges, but topology.kind is ring"},
		{"a file of edges that is not there", "topology: {kind: edges, file: absent.txt}\n", 1, 31,
			"cannot be read: no such file"},
		{"a resnet of depth 21", "model: {name: resnet, depth: 21}\n", 1, 30, "6n+2"},
		{"a layer of no width", "model: {hidden: [64, 0]}\n", 1, 22, "must be 1 to 65536, got 0"},
		{"a rate without unit", "limit: {rate: \"100\"}\n", 1, 15, "like 100mbit"},
		{"a rate of nothing", "limit: {rate: 0mbit}\n", 1, 15, "at least 1kbit"},
		{"a rate below the least one", "limit: {rate: 0.5kbit}\n", 1, 15, "at least 1kbit"},
		{"an eps that is 0 as a float32", "train: {optimizer: {name: adamw, eps: 1e-60}}\n", 1, 39, "eps"},
		{"a duration without unit", "limit: {latency: \"3\"}\n", 1, 18, "must be like 1.5ms"},
		{"minutes on the way", "limit: {latency: 1m}\n", 1, 18, "got 1m0s: m means minutes; did you mean 1ms?"},
		{"minutes on the way of a link", "limit: {links: {\"0-1\": {latency: 1.5m}}}\n", 1, 34, "did you mean 1.5ms?"},
		{"a negative duration", "limit: {latency: -1ms}\n", 1, 18, "must be like 1.5ms"},
		{"a link that is none", "limit: {links: {\"0:1\": {rate: 1mbit}}}\n", 1, 24, "two ranks like 0-1"},
		{"a link beyond the graph", "limit: {links: {\"0-8\": {rate: 1mbit}}}\n", 1, 24, "no worker 8 in a ring of 8"},
		{"a link with a wrong rate", "limit: {links: {\"0-1\": {rate: fast}}}\n", 1, 31, "like 100mbit"},
		{"a slow worker beyond the graph", "train: {slow: {\"8\": 2}}\n", 1, 21, "no worker \"8\" in a ring of 8"},
		{"a slow worker that is no rank", "train: {slow: {first: 2}}\n", 1, 23, "no worker \"first\""},
		{"a worker made faster", "train: {slow: {\"2\": 0.5}}\n", 1, 21, "a factor from 1 to 1000, got 0.5"},
		{"a certificate for steps of any length", "model: {name: external}\nalgorithm: {theta: {rule: certified}}\n", 2, 27,
			"the rule certified needs the largest change of a parameter"},
		{"a certificate for adpsgd", "algorithm: {name: adpsgd, theta: {rule: certified}}\n", 1, 41,
			"no certificate for adpsgd: nothing bounds its mixing time, as pairs meet at random: use adaptive, got certified"},
		{"the theorem under adpsgd", "algorithm: {theta: {rule: theorem}, name: adpsgd}\n", 1, 27,
			"use adaptive, got theorem"},
		{"adpsgd that learns from nothing", "algorithm: {name: adpsgd, theta: {verify: false}}\n", 1, 43,
			"learns from verification"},
		{"an order in adpsgd", "algorithm: {name: adpsgd, codec: full, order: atc}\n", 1, 47,
			"it is a setting of dpsgd, but algorithm.name is adpsgd"},
		{"a name with a slash", "name: a/b\n", 1, 7, "letters, digits"},
		{"a roster too short", "peers:\n  - {id: " + id + "}\n", 2, 3,
			"the roster has 1 entry, but the ring has 8 workers"},
		{"an entry without id", "topology: {size: 1}\npeers:\n  - addrs: []\n", 3, 5, "lacks the key id"},
		{"a link-local address", "topology: {size: 1}\npeers: [{id: " + id + ", addrs: [\"/ip6/fe80::1/tcp/1\"]}]\n", 2, 76,
			"peers do not connect to those"},
		{"an address with a zone", "node: {listen: [\"/ip6zone/eth0/ip6/fe80::1/tcp/1\"]}\n", 1, 17, "link-local"},
		{"all interfaces", "topology: {size: 1}\npeers: [{id: " + id + ", addrs: [/ip4/0.0.0.0/tcp/1]}]\n", 2, 76,
			"no address to call"},
		{"an id that is none", "topology: {size: 1}\npeers: [{id: bob}]\n", 2, 14, "not a peer id"},
		{"an id twice", "topology: {size: 2}\npeers: [{id: " + id + "}, {id: " + id + "}]\n", 2, 74,
			"the same id as entry 0"},
		{"an address that is none", "node: {listen: [\"192.168.1.10:4001\"]}\n", 1, 17, "not an address like /ip4/"},
		{"duplicate key", "name: a\nseed: 1\nname: b\n", 3, 1, "given twice, first in line 1"},
		{"duplicate nested key", "train:\n  batch: 8\n  batch: 16\n", 3, 3, "given twice, first in line 2"},
		{"tab", "train:\n\tbatch: 8\n", 2, 1, "use spaces"},
		{"unclosed list", "model: {hidden: [64, 64}\n", 1, 24, "']' must be specified"},
		{"bad indentation", "train:\n   batch: 8\n  rounds: 9\n", 3, 3, "not allowed"},
		{"empty", "", 1, 1, "empty"},
		{"only comments", "# nothing\n\n", 1, 1, "empty"},
		{"a list", "- a\n", 1, 1, "key: value"},
		{"a word", "ring8\n", 1, 1, "key: value"},
		{"two documents", "name: a\n---\nname: b\n", 3, 1, "second document"},
		{"byte order mark", "\xef\xbb\xbfname: a\n", 1, 1, "byte order mark"},
		{"UTF-16", "n\x00a\x00m\x00e\x00", 1, 2, "not a text file"},
		{"binary", "name: a\nx: \x7fELF\x02\x01\x01", 2, 4, "not a text file"},
		{"invalid UTF-8", "name: \xff\xfe\n", 1, 7, "not a text file"},
		{"anchor", "name: &a x\n", 1, 7, "an anchor: not used in run files"},
		{"alias", "name: *a\n", 1, 7, "an alias"},
		{"tag", "name: !!str x\n", 1, 7, "a tag"},
		{"merge key", "train:\n  <<: {batch: 1}\n", 2, 3, "a merge key"},
		{"deep flow nesting", "name: " + strings.Repeat("[", 100_000), 1, 23, "nested too deeply"},
		{"deep block nesting", strings.Repeat("- ", 100_000), 1, 33, "nested too deeply"},
		{"too many keys", strings.Repeat("a: b\n", 20_000), 10_001, 2, "more than 10000 keys"},
		{"too large", "name: a\n" + strings.Repeat("#\n", 1<<19), 1, 1, "at most 1048576"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text)
			all := problems(t, err)
			if len(all) != 1 {
				t.Fatalf("want 1 problem, got %d: %v", len(all), err)
			}
			p := all[0]
			if p.Line != test.line || p.Column != test.column {
				t.Errorf("place: want %d:%d, got %d:%d", test.line, test.column, p.Line, p.Column)
			}
			if text := err.(*Error).Detail(); !strings.Contains(text, test.want) {
				t.Errorf("want %q in:\n%s", test.want, text)
			}
		})
	}
}

func TestAYAMLBombIsRefusedAtOnce(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	_, err := load(t, bomb)
	if got := problems(t, err)[0]; !strings.Contains(got.Message, "an anchor") {
		t.Errorf("want the anchor refused, got %v", got)
	}
}

func TestAllProblemsOfAFileAtOnce(t *testing.T) {
	_, err := load(t, strings.Join([]string{
		"sed: 1",
		"topology: {kind: torus, rows: 2, cols: 2, size: 8, slack: 0}",
		"train:",
		"  batch: many",
		"  batch: 2",
		"  momentum: 2",
		"algorithm: {bits: 1, rounding: shared}",
	}, "\n"), "train.rounds=0")
	var got []string
	for _, p := range problems(t, err) {
		got = append(got, p.Where()[strings.LastIndexByte(p.Where(), '/')+1:]+" "+p.Key)
	}
	want := []string{
		"run.yaml:1:1 sed", "run.yaml:2:49 topology.size", "run.yaml:2:59 topology.slack",
		"run.yaml:4:10 train.batch", "run.yaml:5:3 train.batch", "run.yaml:6:13 train.momentum",
		"run.yaml:7:32 algorithm.rounding", "--set train.rounds=0 train.rounds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestDetailShowsThePlace(t *testing.T) {
	_, err := load(t, "algorithm:\n  bits: 8\n  ronding: nearest\n")
	detail := err.(*Error).Detail()
	detail = detail[strings.Index(detail, "run.yaml"):]
	want := "run.yaml:3:3\n  3 |   ronding: nearest\n    |   ^\nhint: did you mean rounding?\n"
	if detail != want {
		t.Errorf("want\n%s\ngot\n%s", want, detail)
	}
}

func TestOverridesNameTheirLayer(t *testing.T) {
	tests := []struct {
		name string
		src  Source
		want string
	}{
		{"unknown key in --set", Source{Set: []string{"train.batchs=3"}},
			"train.batchs: unknown key; train has rounds, epochs, batch, step_size, schedule, warmup, drop, optimizer, " +
				"momentum, weight_decay, augment, from, slow: --set train.batchs=3"},
		{"unknown section in --set", Source{Set: []string{"trane.batch=3"}}, "did you mean train?"},
		{"--set without value", Source{Set: []string{"train.batch"}}, "must be key=value: --set train.batch"},
		{"--set with an empty number", Source{Set: []string{"train.batch="}}, "has no value: --set train.batch="},
		{"--set with broken YAML", Source{Set: []string{"model.hidden=[1, 2"}}, "--set model.hidden=[1, 2"},
		{"--set of NaN", Source{Set: []string{"algorithm.theta.value=.nan"}}, "must be a finite number"},
		{"environment", Source{Env: []string{"PEER_TRAIN__BATCH=0"}},
			"must be at least 1, got 0: environment variable PEER_TRAIN__BATCH"},
		{"unknown key in the environment", Source{Env: []string{"PEER_TRAIN__BATSH=1"}},
			"environment variable PEER_TRAIN__BATSH"},
		{"flag", Source{Flags: map[string]any{"train.rounds": -1}}, "must be at least 1, got -1: flag for train.rounds"},
		{"--set that contradicts the file", Source{File: "torus4x4-fashion", Set: []string{"topology.size=9"}},
			"a torus of 4 x 4 has 16 workers, but the size is 9: --set topology.size=9"},
		{"one bit over a file with shared rounding",
			Source{File: "ring8", Env: []string{"PEER_ALGORITHM__ROUNDING=shared"}, Set: []string{"algorithm.bits=1"}},
			"algorithm.bits: shared rounding needs at least 3 levels, got 1 bit: use dither or nearest: --set algorithm.bits=1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(test.src)
			if len(problems(t, err)) != 1 || !strings.Contains(err.(*Error).Detail(), test.want) {
				t.Errorf("want one problem with %q, got\n%v", test.want, err.(*Error).Detail())
			}
		})
	}
}

func TestLayersWinInOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(file, []byte("train: {rounds: 1, batch: 1, momentum: 0.1, step_size: 5e-4}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load(Source{
		File:  file,
		Env:   []string{"PEER_TRAIN__ROUNDS=2", "PEER_TRAIN__BATCH=2", "PEER_DATA=/nowhere", "PEER_SIMD=avx2", "HOME=/x"},
		Set:   []string{"train.rounds=3", "train.rounds=4", "node.join_secret=007", "model.hidden=[32, 16]"},
		Flags: map[string]any{"seed": 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Seed = 9
	want.Train.Rounds, want.Train.Batch, want.Train.Momentum, want.Train.StepSize = 4, 2, 0.1, 5e-4
	want.Node.JoinSecret = "007"
	want.Model.Hidden = []int{32, 16}
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, origin := range map[string]string{
		"train.rounds": "--set", "train.batch": "environment", "train.momentum": file + ":1:30",
		"train.schedule": "default", "seed": "flag", "model.hidden": "--set", "data.dir": "default",
	} {
		if got := l.Origin(key); got != origin {
			t.Errorf("origin of %s: want %s, got %s", key, origin, got)
		}
	}
}

// The name of a model to start from is relative to the file that has it. Peers compare its content.
func TestModelsToStartFrom(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.safetensors": "abc", "b.safetensors": "abc", "run.yaml": "train: {from: a.safetensors}\n",
		"lost.yaml": "train: {from: c.safetensors}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "run.yaml")
	l, err := Load(Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := l.Config.Train; got.From != filepath.Join(dir, "a.safetensors") || got.FromHash != sum {
		t.Errorf("from %s with the hash %s, want %s", got.From, got.FromHash, sum)
	}
	same, err := Load(Source{File: file, Set: []string{"train.from=" + filepath.Join(dir, "b.safetensors")}})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Load(Source{File: file, Set: []string{"train.from="}})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range l.Config.Sections() {
		if same.Config.Sections()[i].Hash != s.Hash {
			t.Errorf("section %s depends on the name of the file", s.Name)
		}
		if differs := without.Config.Sections()[i].Hash != s.Hash; differs != (s.Name == "train") {
			t.Errorf("section %s: differs with the content of the file: %v", s.Name, differs)
		}
	}
	if text := string(l.Config.Portable()); !strings.Contains(text, "from: "+StartFile+"\n") {
		t.Errorf("a portable file has no %s:\n%s", StartFile, text)
	}
	if given, err := l.Given(); err != nil || !strings.Contains(string(given), "from: "+StartFile+"\n") {
		t.Errorf("the given keys have no %s: %s, error %v", StartFile, given, err)
	}
	_, err = Load(Source{File: filepath.Join(dir, "lost.yaml")})
	if err == nil || !strings.Contains(err.Error(), "train.from: "+filepath.Join(dir, "c.safetensors")+" cannot be read") {
		t.Errorf("a missing file: error %v", err)
	}
	if _, err := Load(Source{File: file, Set: []string{"model.name=quadratic", "train.from=lost"}}); err == nil ||
		!strings.Contains(err.Error(), "has no effect") {
		t.Errorf("a key without effect: error %v", err)
	}
}

func TestKeysThatFollowFromOthers(t *testing.T) {
	edges := filepath.Join(t.TempDir(), "edges.txt")
	if err := os.WriteFile(edges, []byte("0 1\n1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		file string
		set  []string
		want func(*Config)
	}{
		{"the size of a torus", "topology: {kind: torus, rows: 2, cols: 3}", nil,
			func(c *Config) { c.Topology.Kind, c.Topology.Rows, c.Topology.Cols, c.Topology.Size = "torus", 2, 3, 6 }},
		{"a torus as long as a ring may be", "topology: {kind: torus, rows: 1, cols: 1048576}", nil,
			func(c *Config) {
				c.Topology.Kind, c.Topology.Rows, c.Topology.Cols, c.Topology.Size = "torus", 1, 1<<20, 1<<20
			}},
		{"a torus made a ring", "topology: {kind: torus, rows: 2, cols: 3}", []string{"topology.kind=ring"},
			func(c *Config) {}},
		{"the size of a file of edges", "topology: {kind: edges, file: " + edges + "}", nil,
			func(c *Config) {
				c.Topology.Kind, c.Topology.File, c.Topology.Size = "edges", edges, 3
				c.Topology.Edges = edgeList(0, 1, 1, 2)
			}},
		{"the codec of all-reduce", "name: run", []string{"algorithm.name=allreduce"},
			func(c *Config) { c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "allreduce", "full", 32 }},
		{"the codec of all-reduce over a file for Moniqua", "algorithm: {codec: moniqua, bits: 4}",
			[]string{"algorithm.name=allreduce"},
			func(c *Config) { c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "allreduce", "full", 32 }},
		{"dpsgd over a file for all-reduce by all-gather",
			"algorithm: {name: allreduce, reduce: allgather, error_feedback: true}", []string{"algorithm.name=dpsgd"},
			func(c *Config) {}},
		{"full precision over a file with error feedback",
			"algorithm: {name: allreduce, reduce: server, error_feedback: true}", []string{"algorithm.reduce=ring"},
			func(c *Config) { c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "allreduce", "full", 32 }},
		{"another compressor instead of a table", "algorithm: {name: choco, compressor: {name: levels, table: [0, 1]}}",
			[]string{"algorithm.compressor.name=sign"},
			func(c *Config) {
				c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits, c.Algorithm.Compressor.Name = "choco", "full", 32, "sign"
			}},
		{"the codec of choco", "algorithm: {name: choco, compressor: {name: sign}}", nil,
			func(c *Config) {
				c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits, c.Algorithm.Compressor.Name = "choco", "full", 32, "sign"
			}},
		{"the codec of d2", "name: run", []string{"algorithm.name=d2"}, func(c *Config) { c.Algorithm.Name = "d2" }},
		{"the bits of full precision", "algorithm: {codec: full}", nil,
			func(c *Config) { c.Algorithm.Codec, c.Algorithm.Bits = "full", 32 }},
		{"the bits of levels", "algorithm: {levels: 5}", nil,
			func(c *Config) { c.Algorithm.Levels, c.Algorithm.Bits = 5, 3 }},
		{"bits instead of the levels of a file", "algorithm: {levels: 5}", []string{"algorithm.bits=32"},
			func(c *Config) { c.Algorithm.Bits = 32 }},
		{"the bits of a compressor's levels", "algorithm: {name: naive, compressor: {levels: 5}}", nil,
			func(c *Config) {
				c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "naive", "full", 32
				c.Algorithm.Compressor.Levels, c.Algorithm.Compressor.Bits = 5, 3
			}},
		{"bits instead of a compressor's levels", "algorithm: {name: naive, compressor: {levels: 5}}",
			[]string{"algorithm.compressor.bits=2"},
			func(c *Config) {
				c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "naive", "full", 32
				c.Algorithm.Compressor.Bits = 2
			}},
		{"the levels of a compressor without bits", "algorithm: {name: naive, compressor: {name: orq}}", nil,
			func(c *Config) {
				c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits = "naive", "full", 32
				c.Algorithm.Compressor.Name, c.Algorithm.Compressor.Levels = "orq", 9
			}},
		{"another rule instead of a fixed theta", "algorithm: {theta: {rule: fixed, value: 2}}",
			[]string{"algorithm.theta.rule=theorem"},
			func(c *Config) { c.Algorithm.Theta.Rule = "theorem" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, test.file, test.set...)
			want := Default()
			test.want(&want)
			if diff := cmp.Diff(want, l.Config); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := load(t, string(l.Config.YAML()))
			if err != nil {
				t.Fatalf("what YAML wrote does not load: %v", err)
			}
			if diff := cmp.Diff(l.Config, again.Config); diff != "" {
				t.Errorf("what YAML wrote loads as another (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdgesAreFoundBesideTheRunFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"run.yaml": "topology: {kind: edges, file: e.txt}", "e.txt": "0 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(Source{File: filepath.Join(dir, "run.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "e.txt"); l.Config.Topology.File != want {
		t.Errorf("want %s, got %s", want, l.Config.Topology.File)
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	tests := []struct{ file, want string }{
		{"ring9", "did you mean ring8?"},
		{"nothing-like-it", "presets: adpsgd6, lan-ring, members, one-label10, ring8-cifar, ring8-cifar60, ring8-fashion, " +
			"ring8-faults, ring8, "},
		{"absent.yaml", "cannot be read: no such file or directory: absent.yaml"},
		{"./ring8", "cannot be read: no such file or directory: ./ring8"},
		{"..", "cannot be read: is a directory"},
	}
	for _, test := range tests {
		_, err := Load(Source{File: test.file})
		if got := problems(t, err); len(got) != 1 || !strings.Contains(err.(*Error).Detail(), test.want) {
			t.Errorf("%s: want %q, got %v", test.file, test.want, err)
		}
	}
}

func TestLocatePlacesAProblemFoundLater(t *testing.T) {
	l := mustLoad(t, "algorithm:\n  bits: 1\n")
	p := problems(t, l.Locate(fmt.Errorf("experiment: %w", Errorf("algorithm.bits", "no certificate"))))[0]
	if p.Line != 2 || p.Column != 9 || p.Excerpt != "  bits: 1" {
		t.Errorf("want 2:9, got %+v", p)
	}
	err := Errorf("algorithm.theta.rule", "no certificate").With("topology.kind", "algorithm.bits")
	if p := problems(t, l.Locate(err))[0]; p.Key != "algorithm.bits" || p.Line != 2 {
		t.Errorf("want the key that the file gives, got %+v", p)
	}
	plain := errors.New("other")
	if got := l.Locate(plain); got != plain {
		t.Errorf("want %v unchanged, got %v", plain, got)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "100mbit": 1e8, "1gbit": 1e9, "500kbit": 5e5, "1.5mbit": 1.5e6,
		"1000bit": 1000} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("rate %q: want %v, got %v, %v", text, want, got, err)
		}
	}
	for _, text := range []string{"100", "8bit", "mbit", "-1mbit", "0gbit", "1 gbit", "1Gbit", "1mbps", "1e3mbit"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("rate %q: want an error, got %v", text, got)
		}
	}
	l := mustLoad(t, "limit: {rate: 1gbit, latency: 1.5ms, links: {\"0-7\": {latency: 6.1s}}}")
	if got := time.Duration(l.Config.Limit.Latency); got != 1500*time.Microsecond {
		t.Errorf("latency: want 1.5ms, got %v", got)
	}
	if got := time.Duration(l.Config.Limit.Links["0-7"].Latency); got != 6100*time.Millisecond {
		t.Errorf("latency of a link: want 6.1s, got %v", got)
	}
}

func TestLinksWithoutEncryptionStayOnTrustedNetworks(t *testing.T) {
	const id = "12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA"
	for _, test := range []struct{ text, key, want string }{
		{"node: {security: none}", "", ""},
		{"node: {security: none, listen: [/ip4/127.0.0.1/tcp/4001]}", "", ""},
		{"node: {security: none, trusted: [10.0.0.0/24], listen: [/ip4/0.0.0.0/tcp/4001, /ip4/10.0.0.7/tcp/1]}", "", ""},
		{"node: {security: none, listen: [/ip4/0.0.0.0/tcp/4001]}", "node.listen.0", "name its network there"},
		{"node: {security: none, trusted: [10.0.0.0/24], listen: [/ip4/10.0.1.7/tcp/1]}", "node.listen.0", "node.trusted"},
		{"node: {security: none, trusted: [10.0.0.0]}", "node.trusted.0", "is not a network like"},
		{"node: {security: none, trusted: [0.0.0.0/0]}", "node.trusted.0", "too large to be trusted"},
		{"node: {trusted: [10.0.0.0/24]}", "node.trusted", "it is a setting of none"},
		{"topology: {kind: ring, size: 1}\npeers: [{id: " + id + ", addrs: [/ip4/192.0.2.1/tcp/1]}]\n" +
			"node: {security: none}", "peers.0.addrs.0", "set node.security to tls"},
	} {
		_, err := load(t, test.text)
		if test.key == "" {
			if err != nil {
				t.Errorf("%s: %v", test.text, err)
			}
			continue
		}
		found := err != nil && slices.ContainsFunc(problems(t, err), func(p Problem) bool {
			return p.Key == test.key && strings.Contains(p.Message, test.want)
		})
		if !found {
			t.Errorf("%s: want %s: %q, got %v", test.text, test.key, test.want, err)
		}
	}
}

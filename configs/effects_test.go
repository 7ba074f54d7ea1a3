package configs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table is closed: a new key needs a row that says when it has an effect.
func TestEveryKeyHasOneRowOfEffects(t *testing.T) {
	var rows, keys []string
	for _, e := range effects {
		rows = append(rows, e.key)
	}
	for _, key := range Reference() {
		keys = append(keys, key.Name)
	}
	slices.Sort(rows)
	slices.Sort(keys)
	if diff := cmp.Diff(keys, rows); diff != "" {
		t.Errorf("keys of the schema and rows of effects (-keys +rows):\n%s", diff)
	}
}

// A row stands below the rows of the keys that it needs, so that those keys are dropped first.
func TestRowsStandBelowTheRowsTheyNeed(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range effects {
		for _, n := range e.needs {
			for _, on := range n.on {
				// Codec and bits depend on each other: 32 bits need no codec.
				if !seen[on] && (e.key != "algorithm.codec" || on != "algorithm.bits") && on != "limit.links" {
					t.Errorf("%s needs %s, which has no row above", e.key, on)
				}
			}
		}
		seen[e.key] = true
	}
}

func TestKeysWithoutEffect(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"bits of dcd", "algorithm: {name: dcd, bits: 8}", 1, 30, "hint: algorithm.compressor.bits sets the bits of dcd"},
		{"32 bits of dcd", "algorithm: {name: dcd, bits: 32}", 1, 30, "dcd sends no models by a codec"},
		{"bits of choco by sign", "algorithm: {name: choco, bits: 1, compressor: {name: sign}}", 1, 32,
			"algorithm.compressor.name chooses the compressor of choco"},
		{"levels of ecd", "algorithm: {name: ecd, levels: 5}", 1, 32, "ecd sends no models by a codec"},
		{"bits of full precision", "algorithm: {codec: full, bits: 4}", 1, 32, "the codec full sends 32 bits per parameter"},
		{"the default bits of full precision", "algorithm: {codec: full, bits: 8}", 1, 32,
			"or set algorithm.codec to moniqua"},
		{"bits of a ring reduction", "algorithm: {name: allreduce, bits: 8}", 1, 36,
			"the reduce ring of allreduce sends full precision"},
		{"a codec for 32 bits", "algorithm: {codec: moniqua, bits: 32}", 1, 20, "32 bits per parameter are full precision"},
		{"a rounding of 32 bits", "algorithm: {bits: 32, rounding: nearest}", 1, 33,
			"32 bits per parameter are full precision"},
		{"theta in full precision", "algorithm: {codec: full, theta: {rule: certified}}", 1, 40,
			"the codec full sends 32 bits"},
		{"a compressor of dpsgd", "algorithm: {compressor: {name: topk}}", 1, 32,
			"hint: algorithm.codec and algorithm.bits say how dpsgd sends models"},
		{"the default compressor of dpsgd", "algorithm: {compressor: {name: qsgd}}", 1, 32, "dpsgd has no compressor"},
		{"settings of a compressor of d2", "algorithm:\n  name: d2\n  compressor: {bits: 4, norm: l2}", 3, 22,
			"algorithm.compressor.bits: has no effect, nor has norm: d2 has no compressor"},
		{"a compressor of a ring reduction", "algorithm: {name: allreduce, compressor: {bits: 2}}", 1, 49,
			"set algorithm.reduce to allgather or server"},
		{"bits of sign", "algorithm: {name: choco, compressor: {name: sign, bits: 1}}", 1, 57,
			"it is a setting of qsgd, minmax, nuqsgd, alq, alqn, alqg, alqgn, amq or amqn, but algorithm.compressor.name is " +
				"sign"},
		{"the ratio beside k", "algorithm: {name: choco, compressor: {name: topk, k: 5, ratio: 0.1}}", 1, 64,
			"k is given, 5"},
		{"bits under a controller", "algorithm: {bits: 4, controller: {name: mqgrad}}", 1, 19,
			"set algorithm.controller.min_bits and max_bits"},
		{"bits of a compressor under a controller",
			"algorithm: {name: choco, compressor: {name: minmax, bits: 2}, controller: {name: mqgrad}}",
			1, 59, "mqgrad chooses the bits"},
		{"gamma of dpsgd", "algorithm: {gamma: 0.5}", 1, 20, "for dpsgd there is topology.slack"},
		{"order of d2", "algorithm: {name: d2, order: cta}", 1, 30, "it is a setting of dpsgd, but algorithm.name is d2"},
		{"a graph for allreduce", "topology: {kind: star}\nalgorithm: {name: allreduce}", 1, 18,
			"algorithm.reduce the graph"},
		{"a torus for allreduce", "topology: {kind: torus, rows: 2, cols: 2}\nalgorithm: {name: allreduce}", 1, 18,
			"allreduce has a graph of its own"},
		{"slack of allreduce", "topology: {slack: 0.5}\nalgorithm: {name: allreduce}", 1, 19, "leave it out for allreduce"},
		{"hidden layers of logistic", "model: {name: logistic, hidden: [64]}", 1, 33,
			"it is a setting of mlp, but model.name is logistic"},
		{"depth of an mlp", "model: {depth: 20}", 1, 16, "set model.name to resnet"},
		{"data of a quadratic", "model: {name: quadratic}\ndata: {name: a9a}", 2, 14, "a quadratic has no samples"},
		{"a batch of a quadratic", "model: {name: quadratic}\ntrain: {batch: 8}", 2, 16, "a quadratic has no samples"},
		{"the batch of an external model", "model: {name: external}\ntrain: {batch: 8}", 2, 16,
			"the script of an external model reads its own samples"},
		{"the data of an external model", "model: {name: external}\ndata: {name: a9a}", 2, 14,
			"reads its own samples"},
		{"the step of an external model", "model: {name: external}\ntrain: {step_size: 1, schedule: cosine, momentum: 0}",
			2, 20, "train.step_size: has no effect, nor has schedule or momentum: the script of an external model takes"},
		{"the decay of an external model", "model: {name: external}\ntrain: {weight_decay: 0.1}", 2, 23,
			"set the optimizer in the script"},
		{"the layers of an external model", "model: {name: external, hidden: [3]}", 1, 33,
			"it is a setting of mlp, but model.name is external"},
		{"the evaluation of an external model", "model: {name: external}\noutput: {evaluate: 5}", 2, 20,
			"evaluate in the script"},
		{"the start of a quadratic", "model: {name: quadratic}\ntrain: {from: none.safetensors}", 2, 15,
			"a quadratic starts as its seed says"},
		{"the start of an external model", "model: {name: external}\ntrain: {from: none.safetensors}", 2, 15,
			"as the script of worker 0 says"},
		{"a folder for the data inside", "data: {dir: /data}", 1, 13, "the data set glyphs is built in"},
		{"labels of iid", "data: {per_worker: 2}", 1, 20, "it is a setting of labels, but data.partition is iid"},
		{"alpha of labels", "data: {partition: labels, alpha: 0.5}", 1, 34, "set data.partition to dirichlet"},
		{"shares of equal sizes", "data: {sizes: {law: equal, shares: [1, 2]}}", 1, 36, "set data.sizes.law to shares"},
		{"an exponent without a power", "data: {sizes: {exponent: 2}}", 1, 26,
			"it is a setting of power, but data.sizes.law is natural"},
		{"alpha of a power", "data: {sizes: {law: power, alpha: 2}}", 1, 35, "it is a setting of dirichlet"},
		{"weights of a quadratic", "model: {name: quadratic}\ndata: {weights: samples}", 2, 17,
			"a quadratic has no samples"},
		{"weights of adamw", "data: {weights: samples}\ntrain: {optimizer: {name: adamw}}", 1, 17,
			"the steps of adamw do not depend on the length of a gradient"},
		{"weights of lion", "data: {weights: samples}\ntrain: {optimizer: {name: lion}}", 1, 17, "the steps of lion"},
		{"weights without rounds", "algorithm: {name: adpsgd}\ndata: {weights: samples}", 2, 17,
			"an adpsgd worker counts in proportion to its steps"},
		{"sizes of a script", "model: {name: external}\ndata: {sizes: {law: equal}}", 2, 21, "reads its own samples"},
		{"noise of a script", "model: {name: external}\ndata: {label_noise: [0.5]}", 2, 21, "reads its own samples"},
		{"a burst without a rate", "limit: {burst: 1000}", 1, 16, "give a rate beside it"},
		{"a burst of a link without a rate", "limit: {rate: 1mbit, links: {\"0-1\": {burst: 9}}}", 1, 45,
			"give a rate beside it"},
		{"a loss without rate and latency", "limit: {loss: 0.1}", 1, 15, "give a rate or a latency beside it"},
		{"a loss of a link without rate and latency", "limit: {rate: 1mbit, links: {\"0-1\": {loss: 0.1}}}", 1, 44,
			"give a rate or a latency beside it"},
		{"the security of quic", "node: {transport: quic, security: noise}", 1, 35,
			"it is a setting of tcp, but node.transport is quic"},
		{"rounds beside epochs", "train: {rounds: 100, epochs: 3}", 1, 17, "train.epochs says how long the run is, 3"},
		{"epochs of a quadratic", "model: {name: quadratic}\ntrain: {epochs: 2}", 2, 17, "a quadratic has no samples"},
		{"momentum of qg", "algorithm: {name: qg}\ntrain: {momentum: 0.9}", 2, 19,
			"train.momentum: has no effect: qg has a momentum of its own"},
		{"the way out for qg", "algorithm: {name: qg}\ntrain: {momentum: 0.9}", 2, 19,
			"remove train.momentum, and set algorithm.update.momentum"},
		{"adamw for decentlam", "algorithm: {name: decentlam}\ntrain: {optimizer: {name: adamw}}", 2, 27,
			"remove train.optimizer, which is sgd for decentlam"},
		{"momentum of adamw", "train: {momentum: 0.9, optimizer: {name: adamw}}", 1, 19,
			"it is a setting of sgd, but train.optimizer.name is adamw"},
		{"betas of sgd", "train: {optimizer: {beta1: 0.8}}", 1, 28, "it is a setting of adamw or lion"},
		{"eps of lion", "train: {optimizer: {name: lion, eps: 1e-6}}", 1, 38, "it is a setting of adamw"},
		{"drops of a cosine", "train: {drop: {every: 5}}", 1, 23, "it is a setting of step, but train.schedule is cosine"},
		{"momentum of the update of dpsgd", "algorithm: {update: {momentum: 0.5}}", 1, 32,
			"for dpsgd there is train.momentum"},
		{"eta of gt", "algorithm: {name: gt, update: {eta: 0.5}}", 1, 37, "it is a setting of kgt"},
		{"a second theta of dpsgd", "algorithm: {theta: {rule: fixed, value: 1, second: 2}}", 1, 52,
			"it is a setting of gt or kgt"},
		{"members of a fixed crew", "membership: {min: 3, max: 9, grace: 5s}", 1, 19,
			"membership.min: has no effect, nor has max or grace: it is a setting of view, but membership.mode is fixed"},
		{"the way out for members", "membership: {max: 9}", 1, 19, "set membership.mode to view"},
		{"a policy for members that go",
			"membership: {mode: view}\nfaults: {on_lost_neighbor: reweight}", 2, 28,
			"membership.grace says after how long a silence"},
		{"checkpoints that nobody takes", "checkpoint: {seconds: 0, keep: 5}", 1, 32, "no checkpoints are taken"},
		{"a journal without checkpoints", "checkpoint: {seconds: 0, journal: 9MB}", 1, 35, "no checkpoints are taken"},
		{"a journal of adpsgd", "algorithm: {name: adpsgd}\ncheckpoint: {journal: 9MB}", 2, 23, "sends no message again"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text)
			all := problems(t, err)
			if len(all) != 1 {
				t.Fatalf("want 1 problem, got %d: %v", len(all), err)
			}
			if p := all[0]; p.Line != test.line || p.Column != test.column || !strings.HasPrefix(p.Message, "has no effect") {
				t.Errorf("want a key without effect at %d:%d, got %v", test.line, test.column, p)
			}
			if text := err.(*Error).Detail(); !strings.Contains(text, test.want) {
				t.Errorf("want %q in:\n%s", test.want, text)
			}
		})
	}
}

// A key that states the value that it has anyway is no mistake.
func TestKeysThatRepeatADefault(t *testing.T) {
	for _, text := range []string{
		"algorithm: {codec: full, bits: 32}",
		"algorithm: {name: allreduce, bits: 32}",
		"algorithm: {name: choco, codec: full, clip: {radius: 0}, error_feedback: false}",
		"topology: {kind: ring, rows: 0, cols: 0, file: \"\"}",
		"data: {dir: \"\"}",
		"limit: {burst: 0}",
		"membership: {mode: view}\nfaults: {on_lost_neighbor: wait}",
	} {
		if _, err := load(t, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOverridesWithoutEffectNameTheirLayer(t *testing.T) {
	for _, test := range []struct {
		src  Source
		want string
	}{
		{Source{File: "ring8", Set: []string{"algorithm.name=dcd", "algorithm.bits=8"}}, "--set algorithm.bits=8"},
		{Source{File: "ring8", Set: []string{"algorithm.compressor.bits=8"}}, "--set algorithm.compressor.bits=8"},
		{Source{File: "ring8", Env: []string{"PEER_DATA__ALPHA=0.1"}}, "environment variable PEER_DATA__ALPHA"},
		{Source{File: "ring8", Flags: map[string]any{"model.depth": 20}}, "flag for model.depth"},
		{Source{File: "one-label10", Set: []string{"topology.rows=2"}}, "--set topology.rows=2"},
		{Source{Set: []string{"model.name=external", "train.momentum=0.9"}}, "--set train.momentum=0.9"},
	} {
		_, err := Load(test.src)
		if p := problems(t, err); len(p) != 1 || p[0].Source != test.want ||
			!strings.HasPrefix(p[0].Message, "has no effect") {
			t.Errorf("want a key without effect in %q, got %v", test.want, err)
		}
	}
}

// An override drops what it makes meaningless in the layers below.
func TestOverridesDropMeaninglessKeys(t *testing.T) {
	tests := []struct {
		name  string
		src   Source
		same  []string // settings that give the same configuration without a file
		notes []string
	}{
		{"another model", Source{File: "ring8-cifar", Set: []string{"model.name=logistic"}},
			[]string{"name=ring8-cifar", "data.name=cifar-10", "model.name=logistic", "train.rounds=4000", "train.step_size=0.1",
				"train.weight_decay=0.0005"},
			[]string{"model.norm of ring8-cifar (embedded preset):4:23 has no effect: it is a setting of resnet or vgg16, " +
				"but model.name is logistic"}},
		{"a quadratic", Source{File: "one-label10", Set: []string{"model.name=quadratic"}},
			[]string{"name=one-label10", "topology.size=10", "algorithm.name=d2", "model.name=quadratic", "train.rounds=1500",
				"train.momentum=0",
				"output.evaluate=150"},
			[]string{"model.hidden of one-label10 (embedded preset):6:9 has no effect: it is a setting of mlp, but " +
				"model.name is quadratic",
				"data.name of one-label10 (embedded preset):5:8 has no effect, nor has partition: a quadratic has no samples"}},
		{"a torus that reduces", Source{File: "torus4x4-fashion", Set: []string{"algorithm.name=allreduce"}},
			[]string{"name=torus4x4-fashion", "topology.size=16", "algorithm.name=allreduce", "data.name=fashion-mnist",
				"model.hidden=[128]", "train.rounds=600"},
			[]string{"topology.kind of torus4x4-fashion (embedded preset):3:12 has no effect: allreduce has a graph of its own",
				"topology.rows of torus4x4-fashion (embedded preset):3:25 has no effect, nor has cols: it is a setting of " +
					"torus, but topology.kind is ring"}},
		{"the environment below --set", Source{File: "ring8", Env: []string{"PEER_ALGORITHM__BITS=4"},
			Set: []string{"algorithm.name=choco"}},
			[]string{"name=ring8", "algorithm.name=choco"},
			[]string{"algorithm.bits of environment variable PEER_ALGORITHM__BITS has no effect: choco sends no models by a " +
				"codec"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := Load(test.src)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Load(Source{Set: test.same})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Config, l.Config); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, l.Notes()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// The driver of an external model subtracts its updates as they are.
func TestAnExternalModelHasStepSizeOne(t *testing.T) {
	l := mustLoad(t, "model: {name: external}\ntrain: {rounds: 7}")
	standard := Default().Train
	want := Train{Rounds: 7, Batch: 32, StepSize: 1, Schedule: "constant", Augment: "none",
		Drop: standard.Drop, Optimizer: standard.Optimizer, Slow: map[string]float64{}}
	if diff := cmp.Diff(want, l.Config.Train); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := string(l.Config.YAML())
	for _, key := range []string{"data:", "step_size", "batch", "momentum", "hidden"} {
		if strings.Contains(text, key) {
			t.Errorf("the written run file has %s, without effect:\n%s", key, text)
		}
	}
	if diff := cmp.Diff(l.Config, mustLoad(t, text).Config); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
}

// Every preset takes every algorithm, model and graph by one --set, and its YAML loads.
func TestPresetsTakeEveryAlgorithmAndModel(t *testing.T) {
	for _, p := range Presets() {
		for key, values := range map[string][]any{
			"algorithm.name": find("algorithm.name").Enum, "model.name": find("model.name").Enum,
			"data.partition": find("data.partition").Enum,
		} {
			for _, value := range values {
				set := key + "=" + value.(string)
				if value == "local" || p.Name == "script" && key == "data.partition" {
					continue // of files that no preset has, and of data that the script reads itself
				}
				l, err := Load(Source{File: p.Name, Set: []string{set}})
				if err != nil {
					t.Errorf("%s --set %s: %v", p.Name, set, err)
					continue
				}
				again := mustLoad(t, string(l.Config.YAML()))
				if diff := cmp.Diff(l.Config, again.Config); diff != "" || len(again.Notes()) > 0 {
					t.Errorf("%s --set %s: what YAML wrote loads as another, with notes %v (-want +got):\n%s", p.Name, set,
						again.Notes(), diff)
				}
			}
		}
	}
}

// A report shows the settings that have an effect: full precision has no codec and no theta.
func TestEffectiveSettings(t *testing.T) {
	c := Default()
	if all := c.Effective(); all["algorithm.codec"] != "moniqua" || all["algorithm.theta.rule"] == "" {
		t.Errorf("the codec and its theta are not in %v", all)
	}
	c.Algorithm.Bits = 32
	for key := range c.Effective() {
		if within(key, "algorithm.codec") || within(key, "algorithm.theta") || within(key, "algorithm.compressor") {
			t.Errorf("%s has no effect in full precision", key)
		}
	}
}

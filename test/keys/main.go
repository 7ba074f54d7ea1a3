// Keys sets each key of run files to values other than its default, and makes the run in the simulator and with real
// peers. Both must end with the same digest, or refuse the run in the same words: no key is honoured by one driver and
// ignored by the other. A new key without a value here is an error.
//
//	go run ./test/keys               all keys
//	go run ./test/keys train.        keys that begin so
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/configs"
)

// base makes runs short.
var base = []string{"topology.size=4", "train.rounds=8"}

// outside says which keys name something outside the run file, and which values do; other tests set them.
var outside = map[string]string{
	"topology.file": "a file", "topology.kind=edges": "a file", "data.dir": "a folder", "data.path": "a file",
	"data.test": "a file", "train.from": "a file", "output.dir": "a folder", "checkpoint.dir": "a folder",
	"data.name": "downloads, files", "data.label": "a file", "data.features": "a file", "data.skip": "a file",
	"data.header": "a file", "data.missing": "a file", "data.untrained_classes": "a file",
	"data.indices": "a file", "data.dimension": "a file", "data.labels": "a file", "data.test_share": "a file",
	"data.partition=local": "files", "data.standardise": "a table", "train.augment": "pictures in colour",
	"model.name=external": "a script", "peers": "other machines", "node.listen": "addresses",
	"node.trusted": "networks", "node.key": "a file", "node.join_secret": "other machines",
	"node.join_secret_file": "a file", "node.metrics": "a port", "script": "a script",
	"model.depth": "pictures in colour", "model.norm": "pictures in colour", "model.name=resnet": "minutes",
	"model.name=vgg11": "minutes", "model.name=vgg16": "minutes",
	"algorithm.name=adpsgd": "no digest: the order of its exchanges is that of time",
}

// contexts are settings in which a key may have an effect; the first that takes the value counts.
func contexts() (all [][]string) {
	all = append(all, nil)
	for _, set := range []string{
		"algorithm.name=choco", "algorithm.name=choco algorithm.compressor.name=levels",
		"algorithm.name=choco algorithm.compressor.table=[0,0.25,0.5,1]", "topology.rows=2 topology.cols=2",
		"topology.kind=torus topology.rows=2", "topology.kind=torus topology.cols=2",
		"algorithm.name=gt algorithm.theta.rule=fixed algorithm.theta.value=1", "algorithm.name=qg",
		"algorithm.name=kgt", "algorithm.name=allreduce", "algorithm.codec=full",
		"algorithm.theta.rule=fixed algorithm.theta.value=1", "algorithm.theta.rule=certified",
		"topology.kind=random-matching", "topology.kind=torus", "topology.kind=random-regular",
		"topology.kind=random-regular topology.degree=2",
		"topology.kind=small-world topology.degree=2 topology.chance=0.3",
		"topology.kind=erdos-renyi topology.chance=0.9", "data.partition=dirichlet", "data.partition=labels",
		"data.sizes.law=power", "data.sizes.law=dirichlet", "data.sizes.law=shares data.sizes.shares=[1,2,3,4]",
		"model.name=quadratic", "train.optimizer.name=adamw", "train.schedule=step",
		"train.schedule=step train.drop.every=3", "algorithm.name=d2", "algorithm.name=gt", "limit.rate=50mbit",
		"limit.rate=50mbit limit.latency=1ms", "faults.on_lost_neighbor=reweight algorithm.codec=full",
		"algorithm.clip.radius=1 algorithm.codec=full", "algorithm.name=allreduce algorithm.reduce=allgather",
		"algorithm.name=choco algorithm.controller.name=oland-raj",
		"algorithm.name=choco algorithm.compressor.name=full", "algorithm.controller.name=oland-raj",
		"algorithm.controller.name=mqgrad", "membership.mode=view algorithm.codec=full",
	} {
		all = append(all, strings.Fields(set))
	}
	for _, name := range []string{
		"levels algorithm.compressor.table=[0,0.25,0.5,1]", "topk", "randomk", "sign", "linear", "minmax", "alq",
		"orq", "terngrad", "nuqsgd", "bingrad_b", "linear_s",
	} {
		for _, algorithm := range []string{"choco", "allreduce algorithm.reduce=allgather"} {
			all = append(all, strings.Fields("algorithm.name="+algorithm+" algorithm.compressor.name="+name))
		}
	}
	return all
}

// texts are values of keys that the schema describes as texts, lists or maps.
var texts = map[string]string{
	"name": "another", "topology.slack": "0.5", "algorithm.gamma": "0.5",
	"algorithm.compressor.table": "[0, 0.25, 0.5, 1]", "algorithm.compressor.refit_at": "[3]",
	"algorithm.compressor.layers": `["dense1*"]`,
	"data.sizes.shares":           "[4, 3, 2, 1]", "data.label_noise": "[0.1, 0, 0, 0.3]", "model.hidden": "[16, 8]",
	"train.slow": "{1: 3}", "limit.rate": "20mbit", "limit.latency": "2ms", "limit.jitter": "1ms",
	"limit.links": "{0-1: {rate: 10mbit}}", "node.detect": "20s", "membership.grace": "2s", "membership.parent": "7281/5",
	"faults.script":      "[]",
	"checkpoint.journal": "64MB", "topology.rows": "2", "topology.cols": "2", "topology.degree": "2",
	"train.epochs": "0.02", "algorithm.levels": "3",
}

// A property is the part of a JSON schema that this program reads.
type property struct {
	Properties map[string]property `json:"properties"`
	Type       any                 `json:"type"`
	Enum       []any               `json:"enum"`
	Default    any                 `json:"default"`
	Maximum    *float64            `json:"maximum"`
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, prefix string) error {
	var schema property
	if err := json.Unmarshal(configs.Schema(), &schema); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "keys-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "peer")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "gossiptrainer/cmd/peer")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	var failed []error
	keys := leaves("", schema)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !strings.HasPrefix(key, prefix) || outside[key] != "" || outside[strings.Split(key, ".")[0]] != "" {
			continue
		}
		for _, value := range values(key, keys[key]) {
			if outside[key+"="+value] != "" || ctx.Err() != nil {
				continue
			}
			said, err := compare(ctx, program, filepath.Join(work, "runs"), key+"="+value)
			fmt.Printf("%-45s %s\n", key+"="+value, said)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s=%s: %w", key, value, err))
			}
		}
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// leaves returns the keys with values.
func leaves(at string, p property) map[string]property {
	if p.Properties == nil {
		return map[string]property{at: p}
	}
	all := map[string]property{}
	for name, below := range p.Properties {
		maps.Copy(all, leaves(strings.TrimPrefix(at+"."+name, "."), below))
	}
	return all
}

// values returns values of a key that are not its default. None is an error that compare reports.
func values(key string, p property) (all []string) {
	if text := texts[key]; text != "" {
		return []string{text}
	}
	for _, v := range p.Enum {
		if v != p.Default {
			all = append(all, fmt.Sprint(v))
		}
	}
	if all != nil {
		return all
	}
	switch d := p.Default.(type) {
	case bool:
		return []string{fmt.Sprint(!d)}
	case float64:
		if p.Type == "integer" {
			if p.Maximum != nil && d == *p.Maximum {
				return []string{fmt.Sprint(d - 1)}
			}
			return []string{fmt.Sprint(d + 1)}
		}
		if d == 0 {
			return []string{"0.25"}
		}
		return []string{fmt.Sprint(d / 2)}
	}
	return []string{"?"}
}

// compare makes the run in the first context that takes the setting.
func compare(ctx context.Context, program, runs, setting string) (string, error) {
	var refusal error
	for _, around := range contexts() {
		key, _, _ := strings.Cut(setting, "=")
		short := slices.DeleteFunc(slices.Clone(base), func(s string) bool {
			return strings.HasPrefix(s, key+"=") || key == "train.epochs" && strings.HasPrefix(s, "train.rounds=")
		})
		set := slices.Concat(short, around, []string{setting})
		if _, err := configs.Load(configs.Source{Set: set}); err != nil {
			refusal = err
			continue
		}
		simulated, one := run(ctx, program, "sim", runs, set)
		real, other := run(ctx, program, "lab", runs, set)
		switch {
		case (one == nil) != (other == nil):
			return "differs", fmt.Errorf("in %v: the simulator says %v, real peers say %v", around, one, other)
		case one != nil && one.Error() != other.Error():
			return "differs", fmt.Errorf("in %v: refused by the simulator with %v, by real peers with %v", around, one, other)
		case one != nil:
			refusal = one
			continue
		case simulated != real:
			return "differs", fmt.Errorf("in %v: digest %s of the simulator, %s of real peers", around, simulated, real)
		}
		return strings.TrimSpace(simulated + " " + strings.Join(around, " ")), nil
	}
	return "no run", fmt.Errorf("no context takes it: %w", refusal)
}

// run returns the digest of a run, or the first line of the refusal.
func run(ctx context.Context, program, driver, runs string, set []string) (string, error) {
	args := []string{driver, "--json", "--quiet", "--set", "output.dir=" + runs}
	for _, s := range set {
		if !strings.HasPrefix(s, "output.dir=") {
			args = append(args, "--set", s)
		}
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(complaint.String(), "\n")
		return "", errors.New(line)
	}
	var summary struct {
		Digest string `json:"digest"`
	}
	err = json.Unmarshal(out, &summary)
	return summary.Digest, err
}

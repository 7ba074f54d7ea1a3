// Members lets members join, leave and die, with each algorithm on four graphs. The digests of all drivers go into a
// document in Markdown.
//
//	go run ./studies/members -o docs/results/members.md
//
// The runs are short: eight founders, a quadratic and 60 rounds. A driver is an entry of a list, and a column of the
// table. Two drivers that differ are an error.
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/registry"
	"gossiptrainer/lab/views"
	"gossiptrainer/studies/markdown"
)

func main() { markdown.Program("members", write) }

// graphs are those of the table, as settings.
var graphs = []string{"ring", "torus", "one-peer-exponential", "random-matching"}

// A change is what happens in a run.
type change struct{ name, script string }

var changes = []change{
	{"join", "[{at: 20, join: 1}]"},
	{"leave", "[{at: 20, leave: 2}]"},
	{"die", "[{at: 20, die: 3}]"},
}

// A driver computes a run. The log of views is in a file, which the first driver writes.
type driver struct {
	name string
	run  func(ctx context.Context, run *experiment.Run, log string) (digest string, err error)
}

var drivers = []driver{
	{"simulator", func(ctx context.Context, run *experiment.Run, log string) (string, error) {
		o, err := views.Simulate(ctx, run, views.Happening{})
		if err != nil {
			return "", err
		}
		digest := o.Digest()
		return hex.EncodeToString(digest[:]), o.Save(log)
	}},
	{"replay", func(_ context.Context, run *experiment.Run, log string) (string, error) {
		r, err := views.Replay(run, log)
		if err != nil {
			return "", err
		}
		return r.Digest, nil
	}},
}

// A method is a row of algorithms with the way in which it sends models.
type method struct {
	title string
	set   []string
}

// methods returns those of all algorithms: by codec in full precision and with 8 bits of Moniqua, by compressor with
// top-k.
func methods() (all []method) {
	for _, a := range registry.Algorithms() {
		set := []string{"algorithm.name=" + a.Name}
		if a.Form != "" {
			set = append(set, "algorithm.reduce="+a.Form)
		}
		if a.Takes.Eta { // of the steps between two exchanges
			set = append(set, "algorithm.local_steps=2")
		}
		if !a.ByCodec() {
			if a.Sends.Compressor == registry.Contraction {
				set = append(set, "algorithm.compressor={name: topk, k: 6}")
			}
			all = append(all, method{a.String(), set})
			continue
		}
		if slices.Contains(a.Sends.Codecs, registry.Full) {
			all = append(all, method{a.String() + ", full precision", append(slices.Clone(set), "algorithm.codec=full")})
		}
		if slices.Contains(a.Sends.Codecs, registry.Moniqua) {
			theta := "algorithm.theta={rule: fixed, value: 16}"
			if len(a.Lanes()) > 1 {
				theta = "algorithm.theta={rule: fixed, value: 16, second: 64}"
			}
			all = append(all, method{a.String() + ", Moniqua 8 bit", append(slices.Clone(set), theta)},
				method{a.String() + ", adaptive", append(slices.Clone(set), "algorithm.theta.rule=adaptive")})
		}
	}
	return all
}

// founders is the number of founders.
const founders = 8

// settings are those of all runs.
var settings = []string{
	"membership={mode: view, grace: 1s}", fmt.Sprint("topology.size=", founders), "model={name: quadratic, dim: 12}",
	"train={rounds: 60, step_size: 0.05, schedule: constant, momentum: 0}",
}

// assemble returns the run of a cell. An error says why there is none.
func assemble(m method, graph string, script string) (*experiment.Run, error) {
	set := slices.Concat(settings, []string{"faults.script=" + script}, m.set, graphOf(m, graph, founders))
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		return nil, err
	}
	return experiment.New(loaded.Config)
}

// graphOf returns the settings of a graph of some workers for a method, none if that has a graph of its own.
func graphOf(m method, graph string, workers int) []string {
	row, _ := registry.Find(strings.TrimPrefix(m.set[0], "algorithm.name="), "")
	switch {
	case row.Name == "" || row.On.Kind != "":
		return nil
	case graph == "torus":
		return []string{fmt.Sprintf("topology={kind: torus, rows: 2, cols: %d, slack: 0.8}", workers/2)}
	}
	return []string{"topology={kind: " + graph + ", slack: 0.8}"}
}

// none is the cell of a driver that does not play an algorithm.
const none = "–"

// row returns the cells of a method on a graph: the digests of each driver, by change.
func row(ctx context.Context, m method, graph, folder string) ([]string, error) {
	cells := make([]string, len(drivers))
	for _, c := range changes {
		run, err := assemble(m, graph, c.script)
		if err != nil {
			return nil, err
		}
		log, first := filepath.Join(folder, "views.jsonl"), ""
		for i, d := range drivers {
			if i > 0 && run.Method().Asynchronous() {
				cells[i] = none
				continue
			}
			digest, err := d.run(ctx, run, log)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.name, d.name, err)
			}
			if i > 0 && digest != first {
				return nil, fmt.Errorf("%s, %s, %s: the %s has the digest %s, and the %s %s", m.title, graph, c.name,
					drivers[0].name, first, d.name, digest)
			}
			first = digest
			cells[i] = strings.TrimSpace(cells[i] + " " + digest[:8])
		}
	}
	return append([]string{m.title, graph}, cells...), nil
}

// write writes the document.
func write(ctx context.Context, output string) error {
	folder, err := os.MkdirTemp("", "members")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	heading := []string{"algorithm", "graph"}
	for _, d := range drivers {
		heading = append(heading, d.name)
	}
	heading = append(heading, "lab")
	processes, err := newLab(ctx, folder)
	if err != nil {
		return err
	}
	table, refused := [][]string{heading}, [][]string{{"algorithm", "reason"}}
	for _, m := range methods() {
		for _, graph := range graphs {
			cells, err := row(ctx, m, graph, folder)
			if why, ok := refusal(err); ok {
				name, _, _ := strings.Cut(m.title, ",")
				known := func(r []string) bool { return r[0] == name && r[1] == why }
				if why != "" && !slices.ContainsFunc(refused, known) {
					refused = append(refused, []string{name, why})
				}
				continue
			}
			if err != nil {
				return err
			}
			if slices.Contains(cells, none) {
				table = append(table, append(cells, none))
				continue
			}
			views, err := processes.run(ctx, m, graph)
			if err != nil {
				return fmt.Errorf("%s, %s, lab: %w", m.title, graph, err)
			}
			table = append(table, append(cells, views))
		}
	}
	return markdown.Write(output, document(table, refused))
}

func document(table, refused [][]string) string {
	return `# Members come and go, in every driver

Eight founders train a quadratic for 60 rounds. As the first one begins round 20, a ninth member asks to join, or one
leaves, or one dies. The digests of these three runs stand in this order. Each driver has a column. The study ends with
an error if two drivers differ. [membership.md](../membership.md) says what the digests depend on.

In the lab six founders are processes of one machine. One asks to join, one leaves and one is killed in the same run of
1200 rounds. The times of processes decide when views begin, so the digest is another one in each run. The study ends
with an error unless the log of views replays to it. The column has the number of views.

AD-PSGD has no row: its members come and go in every driver, and no log replays it.

` + markdown.Table(table) + `
An algorithm without a row for a graph needs one that does not change. The others are refused on every graph:

` + markdown.Table(refused) + "\n`go run ./studies members` makes this page.\n"
}

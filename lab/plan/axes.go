package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// Axes are the values whose combinations are candidates. An empty list stands for the values that suit the run file.
type Axes struct {
	Algorithms []string // algorithm.name
	Bits       []int    // per parameter
	Graphs     []string // topology.kind
	Steps      []int    // algorithm.local_steps, H
}

// A Candidate is one combination, as a change of the run file.
type Candidate struct {
	Algorithm string `json:"algorithm"`
	Method    string `json:"method"` // for people; "" before its run file is loaded
	Bits      int    `json:"bits"`
	Graph     string `json:"graph"`
	Steps     int    `json:"local_steps"`
	// Set has the overrides of the run file, as key=value. The file as it is has none.
	Set  []string `json:"set"`
	File bool     `json:"as_in_file,omitempty"` // the run file asks for it
}

// String names a candidate: D-PSGD, 8-bit Moniqua, ring, H 1. Where its run file could not be loaded, it has the
// overrides.
func (c Candidate) String() string {
	return fmt.Sprintf("%s, %s, H %d", cmp.Or(c.Method, c.class()), c.Graph, c.Steps)
}

// A Refusal says why combinations are no candidates.
type Refusal struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// defaultBits and defaultSteps are the values without a wish of the user.
var (
	defaultBits  = []int{32, 8, 4, 2, 1}
	defaultSteps = []int{1, 2, 4}
)

// full are the bits per parameter of full precision.
const full = 32

// complete fills the empty axes for a run file: its own algorithm and graph, and those that suit most runs.
func (a Axes) complete(cfg configs.Config) Axes {
	if len(a.Algorithms) == 0 {
		a.Algorithms = unique(cfg.Algorithm.Name, "dpsgd", "choco", "allreduce")
	}
	if len(a.Graphs) == 0 {
		a.Graphs = unique(cfg.Topology.Kind, string(topology.Ring), string(topology.Torus), string(topology.Complete),
			string(topology.OnePeerExponential))
	}
	if len(a.Bits) == 0 {
		a.Bits = defaultBits
	}
	if len(a.Steps) == 0 {
		a.Steps = defaultSteps
	}
	return a
}

func unique(words ...string) (all []string) {
	for _, w := range words {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// check refuses values that no candidate can have.
func (a Axes) check() error {
	for _, name := range a.Algorithms {
		if names := registry.Names(nil); !slices.Contains(names, name) {
			return advice.OneOf("plan: --algorithms", name, names)
		}
	}
	for _, kind := range a.Graphs {
		if kinds := topology.Kinds(); !slices.Contains(kinds, topology.Kind(kind)) {
			var names []string
			for _, k := range kinds {
				names = append(names, string(k))
			}
			return advice.OneOf("plan: --graphs", kind, names)
		}
	}
	for _, b := range a.Bits {
		if b != full && (b < 1 || b > 16) {
			return advice.Usagef("plan: --bits %d: want 1 to 16, or 32 for full precision", b)
		}
	}
	for _, h := range a.Steps {
		if h < 1 {
			return advice.Usagef("plan: --steps %d: want 1 or more local steps", h)
		}
	}
	return nil
}

// candidates returns the combinations that the registry allows, those with the fewest changes of the run file first,
// and why others are none. The file itself is the first.
func (a Axes) candidates(cfg configs.Config) (all []Candidate, refused []Refusal) {
	a = a.complete(cfg)
	no := func(what, why string) {
		r := Refusal{what, why}
		if !slices.Contains(refused, r) {
			refused = append(refused, r)
		}
	}
	all = append(all, Candidate{File: true})
	for _, steps := range a.Steps {
		for _, graph := range a.Graphs {
			for _, name := range a.Algorithms {
				row, _ := registry.Find(name, cfg.Algorithm.Reduce)
				if why := forbidden(row, graph, steps, cfg.Topology); why.Why != "" {
					no(why.What, why.Why)
					continue
				}
				for _, bits := range a.Bits {
					c, why := combine(row, bits, graph, steps, cfg.Topology)
					if why != "" {
						no(fmt.Sprintf("%s with %d bit", name, bits), why)
						continue
					}
					all = append(all, c)
				}
			}
		}
	}
	return all, refused
}

// combine returns one candidate, or why there is none.
func combine(row registry.Algorithm, bits int, graph string, steps int, t configs.Topology) (Candidate, string) {
	set, why := message(row, bits)
	if why != "" {
		return Candidate{}, why
	}
	set = slices.Concat(set, on(row, graph, t))
	if row.Takes.LocalSteps.Given {
		set = append(set, "algorithm.local_steps="+strconv.Itoa(steps))
	}
	c := Candidate{Algorithm: row.Name, Bits: bits, Graph: graph, Steps: steps, Set: set}
	if row.On.Kind != "" {
		c.Graph = string(row.On.Kind)
	}
	return c, ""
}

// forbidden says why a row does not run on a graph or with these local steps.
func forbidden(row registry.Algorithm, graph string, steps int, t configs.Topology) Refusal {
	own := row.On.Kind != ""
	grid := topology.Kind(graph).Takes("rows")
	rows, _ := topology.Sides(t.Size)
	switch {
	case steps > 1 && !row.Takes.LocalSteps.Given:
		return Refusal{row.String() + " with local steps", "it " + row.Takes.LocalSteps.Reason()}
	case own && graph != t.Kind:
		return Refusal{row.String() + " on other graphs", "it has a graph of its own"}
	case !own && !topology.Kind(graph).Static() && !row.On.Changing.Given:
		return Refusal{row.String() + " on " + graph, "it " + row.On.Changing.Reason()}
	case graph == t.Kind:
		return Refusal{}
	case topology.Kind(graph).Takes("file"):
		return Refusal{graph, "the run file names no file of edges"}
	case grid && rows == 1:
		return Refusal{graph, fmt.Sprintf("%d workers are no rectangle", t.Size)}
	case grid && t.Size == 4:
		return Refusal{graph, "of 4 workers it is a ring"}
	}
	return Refusal{}
}

// message returns the settings of messages with these bits, or why a row has none.
func message(row registry.Algorithm, bits int) (set []string, why string) {
	set = []string{"algorithm.name=" + row.Name}
	if row.Form != "" {
		set = append(set, "algorithm.reduce="+row.Form)
	}
	switch {
	case row.ByMoniqua() && bits == full:
		return append(set, "algorithm.bits=32"), ""
	case row.ByMoniqua():
		return append(set, "algorithm.codec=moniqua", "algorithm.bits="+strconv.Itoa(bits)), ""
	case !row.Compresses() && bits == full:
		return set, ""
	case !row.Compresses():
		return nil, "it sends full precision"
	case bits == full:
		return nil, "it compresses its messages"
	}
	return append(set, compressor(row.Sends.Compressor, bits)...), ""
}

// compressor returns the settings of one that suits: the sign for one bit where a bias is allowed, else QSGD.
func compressor(want registry.Want, bits int) []string {
	const key = "algorithm.compressor."
	contracts := want == registry.Contraction
	if contracts && bits == 1 {
		return []string{key + "name=sign"}
	}
	set := []string{key + "name=qsgd", key + "bits=" + strconv.Itoa(bits)}
	if contracts {
		set = append(set, key+"scaled=true")
	}
	return set
}

// on returns the settings of a graph with as many workers, none for that of the run file.
func on(row registry.Algorithm, graph string, t configs.Topology) []string {
	switch {
	case graph == t.Kind || row.On.Kind != "":
		return nil
	case topology.Kind(graph).Takes("rows"):
		rows, cols := topology.Sides(t.Size)
		return []string{"topology.kind=" + graph, fmt.Sprint("topology.rows=", rows), fmt.Sprint("topology.cols=", cols),
			fmt.Sprint("topology.size=", t.Size)}
	}
	return []string{"topology.kind=" + graph, fmt.Sprint("topology.size=", t.Size)}
}

// class names what the costs of coding depend on: the messages, not how many there are.
func (c Candidate) class() string {
	var keys []string
	for _, s := range c.Set {
		if strings.HasPrefix(s, "algorithm.") && !strings.HasPrefix(s, "algorithm.local_steps=") {
			keys = append(keys, s)
		}
	}
	return strings.Join(keys, " ")
}

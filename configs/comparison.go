package configs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Comparison says which runs are to be set against each other: all
// combinations of its networks, algorithms and seeds, each a cell.
type Comparison struct {
	Name       string
	Base       string // preset or path of the run file from which every cell starts
	Mode       string // lab or sim
	Compute    time.Duration
	Networks   []NetworkCase
	Algorithms []Variant
	Seeds      []uint64
	Budget     Budget
	Tuning     Tuning
	Targets    Targets
}

// A NetworkCase is a limit of all peers, and what else belongs to it.
type NetworkCase struct {
	Name string
	Set  []Override // limit.*, and train.rounds where it has its own
}

// A Variant is an algorithm with its settings, under a label.
type Variant struct {
	Label string
	Set   []Override
	Tune  []Choice
}

// An Override gives a key of the run file another value, in YAML.
type Override struct{ Key, Value string }

// A Choice is a key whose value is searched before the cells are run.
type Choice struct {
	Key    string
	Values []string // in YAML
}

// A Budget says when cells end: after their rounds, or before.
type Budget struct {
	Rounds int           // 0 = as the base says
	Time   time.Duration // virtual in sim, on the clock in lab; 0 = any
	Target bool          // when the target of the report is reached
}

// Tuning is the short run on which choices are made: of a seed that no cell has, so
// that no algorithm is tuned to the runs that are reported.
type Tuning struct {
	Rounds int // 0 = a quarter of the run's
	Seed   uint64
}

// Targets are what a report takes the time to; 0 = none.
type Targets struct {
	Loss     float64 // training loss, at most
	Accuracy float64 // on the test set, at least
}

// A Cell is one run of a comparison.
type Cell struct {
	Label   string
	Network string
	Seed    uint64
	Set     []Override
	Tune    []Choice
	Until   []Override // time, loss or accuracy, at which it ends before its rounds are over
}

// ID returns a name of the cell that can be one of a folder.
func (c Cell) ID() string {
	return fmt.Sprintf("%s.%s.%d", fileName(c.Label), fileName(c.Network), c.Seed)
}

// fileName keeps letters, digits, dots and dashes of a name in small letters.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// String returns how people call the cell.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s, seed %d", c.Label, c.Network, c.Seed)
}

// Cells lists the cells of c: all algorithms of a network and a seed stand
// together, so that what is compared was run at the same time.
func (c *Comparison) Cells() []Cell {
	var all []Cell
	for _, network := range c.Networks {
		for _, seed := range c.Seeds {
			for _, a := range c.Algorithms {
				set := []Override{{"seed", fmt.Sprint(seed)}}
				if c.Budget.Rounds > 0 {
					set = append(set, Override{"train.rounds", fmt.Sprint(c.Budget.Rounds)})
				}
				set = slices.Concat(set, network.Set, a.Set)
				all = append(all, Cell{Label: a.Label, Network: network.Name, Seed: seed, Set: set, Tune: a.Tune, Until: c.until()})
			}
		}
	}
	return all
}

// until says what ends a cell before its rounds are over.
func (c *Comparison) until() []Override {
	var all []Override
	if c.Budget.Time > 0 {
		all = append(all, Override{"time", c.Budget.Time.String()})
	}
	if t := c.Targets; c.Budget.Target {
		if t.Loss > 0 {
			all = append(all, Override{"loss", fmt.Sprint(t.Loss)})
		}
		if t.Accuracy > 0 {
			all = append(all, Override{"accuracy", fmt.Sprint(t.Accuracy)})
		}
	}
	return all
}

// Arguments returns overrides as the arguments of --set.
func Arguments(set []Override) []string {
	args := make([]string, len(set))
	for i, o := range set {
		args[i] = o.Key + "=" + o.Value
	}
	return args
}

// IsComparison says whether a name stands for a comparison file rather than a
// run file.
func IsComparison(name string) bool {
	text, shown, err := readSource(name, Comparisons())
	if err != nil {
		return false
	}
	root, ok := parseDocument(shown, text).root.(map[string]any)
	return ok && root["algorithms"] != nil
}

// IsRunFile says whether a name stands for a file with sections of a run file, or
// for a preset.
func IsRunFile(name string) bool {
	if _, err := os.Stat(name); err != nil {
		found, _ := preset(name, Presets())
		return found != nil
	}
	text, shown, err := readSource(name, nil)
	if err != nil {
		return false
	}
	root, ok := parseDocument(shown, text).root.(map[string]any)
	if !ok || root["algorithms"] != nil || root["base"] != nil {
		return false
	}
	for _, section := range []string{"algorithm", "topology", "model", "train", "data"} {
		if root[section] != nil {
			return true
		}
	}
	return false
}

// ComparisonText returns a comparison file as it is written.
func ComparisonText(name string) ([]byte, error) {
	text, _, err := readSource(name, Comparisons())
	return text, err
}

// LoadComparison reads a comparison file, or an embedded one by name, and
// checks that every cell is a run file that can be loaded. Everything wrong is
// in the returned *Error.
func LoadComparison(name string, env []string) (*Comparison, error) {
	text, shown, err := readSource(name, Comparisons())
	if IsRunFile(name) {
		err = &Error{[]Problem{{
			Message: "is a run file, and no comparison", Hint: "peer lab, peer sim and peer run take it", Source: name,
		}}}
	}
	if err != nil {
		return nil, err
	}
	r := &comparisonReader{doc: parseDocument(shown, text)}
	c := r.read()
	if c != nil && isPath(c.Base) && !filepath.IsAbs(c.Base) {
		c.Base = filepath.Join(filepath.Dir(name), c.Base)
	}
	problems := slices.Concat(r.doc.problems, r.problems)
	if len(problems) == 0 {
		problems = c.checkBase(r)
	}
	if len(problems) == 0 {
		problems = c.checkCells(r, env)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, inOrderOfTheFile)
		return nil, &Error{problems}
	}
	return c, nil
}

// checkBase reads the run file that all cells start from: one that is not there
// is wrong once, not in every cell.
func (c *Comparison) checkBase(r *comparisonReader) []Problem {
	_, _, err := readSource(c.Base, Presets())
	e, ok := err.(*Error)
	if !ok {
		return nil
	}
	for _, p := range e.Problems {
		r.wrong("base", "%s: %s", show(c.Base), p.Message)
		r.problems[len(r.problems)-1].Hint = p.Hint
	}
	return r.problems
}

// checkCells loads the first cell of every algorithm on every network: seeds
// change nothing about what is allowed. What is wrong with an algorithm is said
// once, not of every network.
func (c *Comparison) checkCells(r *comparisonReader, env []string) []Problem {
	var problems []Problem
	ids, said := map[string]string{}, map[[3]string]bool{}
	for _, cell := range c.Cells() {
		if cell.Seed != c.Seeds[0] {
			continue
		}
		if first, taken := ids[cell.ID()]; taken {
			return append(problems, Problem{Key: "algorithms", Source: r.doc.name,
				Message: fmt.Sprintf("%q and %q would have the same folder: give them other names", first, cell)})
		}
		ids[cell.ID()] = cell.String()
		for _, choices := range Combinations(cell.Tune) {
			_, err := Load(Source{File: c.Base, Env: env, Set: Arguments(slices.Concat(cell.Set, choices))})
			for _, p := range problemsOf(err) {
				p, whose := r.locate(c, cell, p)
				if what := [3]string{whose, p.Key, p.Message}; !said[what] {
					said[what] = true
					if whose != "" {
						p.Message = fmt.Sprintf("cell %s: %s", cell, p.Message)
					}
					problems = append(problems, p)
				}
			}
		}
	}
	return problems
}

// problemsOf returns what is wrong with a run file.
func problemsOf(err error) []Problem {
	e, ok := err.(*Error)
	switch {
	case err == nil:
		return nil
	case !ok:
		return []Problem{{Message: err.Error()}}
	}
	return e.Problems
}

// locate moves a problem of a cell to the place of what made it, and returns the
// label of the algorithm if that did. A problem of the base or of a network is
// one of all algorithms.
func (r *comparisonReader) locate(c *Comparison, cell Cell, p Problem) (at Problem, label string) {
	if p.Line > 0 {
		return p, ""
	}
	own := slices.IndexFunc(c.Algorithms, func(v Variant) bool { return v.Label == cell.Label })
	n := slices.IndexFunc(c.Networks, func(n NetworkCase) bool { return n.Name == cell.Network })
	gives := func(o Override) bool { return o.Key == p.Key }
	if slices.ContainsFunc(c.Networks[n].Set, gives) && !slices.ContainsFunc(c.Algorithms[own].Set, gives) {
		_, key, _ := strings.Cut(p.Key, ".")
		place := r.doc.nearest(fmt.Sprintf("networks.%d.%s", n, key)).value
		return r.doc.at(p, place.Line, place.Column), ""
	}
	place := r.doc.nearest(fmt.Sprintf("algorithms.%d", own)).key
	return r.doc.at(p, place.Line, place.Column), cell.Label
}

// Combinations lists all ways to choose, one override per choice; without
// choices the one that overrides nothing.
func Combinations(choices []Choice) [][]Override {
	all := [][]Override{nil}
	for _, choice := range choices {
		var longer [][]Override
		for _, before := range all {
			for _, value := range choice.Values {
				longer = append(longer, append(slices.Clone(before), Override{choice.Key, value}))
			}
		}
		all = longer
	}
	return all
}

// overrides flattens values below a key to one override each, in order of the
// keys.
func overrides(prefix string, values map[string]any) []Override {
	var all []Override
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := join(prefix, key)
		if section, ok := values[key].(map[string]any); ok && !isTable(at) {
			all = append(all, overrides(at, section)...)
			continue
		}
		all = append(all, Override{at, inYAML(values[key])})
	}
	return all
}

// isTable says whether the keys below path are the user's own.
func isTable(path string) bool {
	s := find(path)
	return s != nil && s.Properties == nil
}

// inYAML writes a plain value on one line; JSON is YAML.
func inYAML(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: %v", err)) // a document holds plain values
	}
	return string(text)
}

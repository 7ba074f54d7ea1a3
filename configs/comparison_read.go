package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/registry"
)

// A comparisonReader turns a document into a Comparison and collects its problems with their places.
type comparisonReader struct {
	doc      *document
	problems []Problem
}

// keys of the sections of a comparison file.
var (
	comparisonKeys = comparisonKeysOf("")
	networkKeys    = comparisonKeysOf("networks.*")
)

const (
	mostCells   = 10_000
	mostEntries = 64   // networks, algorithms and seeds, of each
	tuningSeed  = 1000 // far from the seeds that people choose for cells
)

func (r *comparisonReader) read() *Comparison {
	root, ok := r.doc.root.(map[string]any)
	if !ok {
		r.wrong("", "a comparison file holds \"key: value\" lines")
		return nil
	}
	r.known("", root, comparisonKeys)
	c := &Comparison{
		Name: r.text(root, "name", ""), Base: r.text(root, "base", ""), Mode: r.text(root, "mode", "sim"),
		Compute: r.compute(root, ""), Cores: r.count(root, "", "cores"),
		Seeds: r.seeds(root), Tuning: Tuning{Seed: tuningSeed},
	}
	if c.Name == "" || strings.Trim(c.Name, plainName) != "" {
		r.wrong("name", "must be letters, digits, dots and dashes")
	}
	if c.Base == "" {
		r.wrong("base", "must be a preset or the path of a run file, from which every cell starts")
	}
	if c.Mode != "sim" && c.Mode != "lab" {
		r.wrong("mode", "must be sim or lab, got %s", show(c.Mode))
	}
	c.Networks = r.networks(root)
	c.Algorithms = r.algorithms(root, len(c.Seeds))
	r.checkCosts(c)
	tuning := r.section(root, "tuning")
	c.Tuning.Rounds = r.count(tuning, "tuning", "rounds")
	if _, given := tuning["seed"]; given {
		c.Tuning.Seed = uint64(r.count(tuning, "tuning", "seed"))
	}
	searched := slices.ContainsFunc(c.Algorithms, func(v Variant) bool { return len(v.Tune) > 0 })
	if searched && slices.Contains(c.Seeds, c.Tuning.Seed) {
		r.wrong("tuning.seed", "%d is the seed of cells: the search needs one of its own", c.Tuning.Seed)
	}
	c.Targets, c.Levels = r.targets(root)
	c.Budget = r.budget(root)
	if c.Budget.Target && c.Targets == (Targets{}) {
		r.wrong("budget", "target needs one: report: {targets: {loss: 0.5}}")
	}
	if cells := len(c.Networks) * len(c.Algorithms) * len(c.Seeds); cells > mostCells {
		r.wrong("algorithms", "%d cells: at most %d", cells, mostCells)
	}
	return c
}

// checkCosts refuses costs of a comparison by real peers.
func (r *comparisonReader) checkCosts(c *Comparison) {
	if c.Mode == "sim" {
		return
	}
	if c.Compute != "" {
		r.wrong("compute", "is the time of a gradient in sim: lab takes what it takes")
	}
	if c.Cores > 0 {
		r.wrong("cores", "are those of sim: lab has the cores of this machine")
	}
	for i, v := range c.Algorithms {
		if v.Compute != "" {
			r.wrong(fmt.Sprintf("algorithms.%d.compute", i), "is the time of a gradient in sim: lab takes what it takes")
		}
	}
}

// compute reads the costs in a section.
func (r *comparisonReader) compute(values map[string]any, section string) string {
	value, given := values["compute"]
	if !given {
		return ""
	}
	c, err := cost.Parse(fmt.Sprint(value))
	if err == nil && !c.Given() {
		err = errors.New("is empty: leave it out, or write measured")
	}
	if err != nil {
		r.wrong(join(section, "compute"), "%v", err)
	}
	return c.String()
}

func (r *comparisonReader) budget(root map[string]any) Budget {
	section := r.section(root, "budget")
	b := Budget{Rounds: r.count(section, "budget", "rounds"), Time: r.duration(section, "budget", "time")}
	if value, given := section["target"]; given && !r.decode(value, &b.Target) {
		r.wrong("budget.target", "must be true or false, got %s", show(value))
	}
	if _, given := section["time"]; given && b.Time <= 0 {
		r.wrong("budget.time", "must be a duration above 0 like 10m, got %s", show(section["time"]))
	}
	return b
}

const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// algorithms reads the algorithms of a comparison with this number of seeds.
func (r *comparisonReader) algorithms(root map[string]any, seeds int) []Variant {
	entries := r.list(root, "algorithms")
	if len(entries) == 0 && root["algorithms"] == nil {
		r.wrong("algorithms", "must list at least one: {label: D-PSGD, name: dpsgd, bits: 32}")
	}
	var all []Variant
	for i, entry := range entries {
		at := fmt.Sprintf("algorithms.%d", i)
		v := Variant{Label: r.text(entry, "label", "")}
		if v.Label == "" {
			r.wrong(at, "an algorithm needs a label")
		}
		if slices.ContainsFunc(all, func(o Variant) bool { return o.Label == v.Label }) {
			r.wrong(at+".label", "two algorithms are labelled %s", show(v.Label))
		}
		if v.Seeds = r.count(entry, at, "seeds"); v.Seeds > seeds {
			r.wrong(join(at, "seeds"), "must be at most %d, the number of seeds, got %d", seeds, v.Seeds)
		}
		delete(entry, "label")
		v.Compute = r.compute(entry, at)
		delete(entry, "seeds")
		delete(entry, "compute")
		more, ok := entry["set"].(map[string]any)
		if !ok && entry["set"] != nil {
			r.wrong(at+".set", "must be a section of keys of the run file")
		}
		delete(entry, "set")
		r.lengthen(at, entry)
		for _, o := range slices.Concat(overrides("algorithm", entry), overrides("", more)) {
			if choice, tuned := tuned(o); tuned {
				v.Tune = append(v.Tune, choice)
			} else {
				v.Set = append(v.Set, o)
			}
		}
		all = append(all, v)
	}
	return all
}

// lengthen moves the short forms bits and levels of an algorithm that compresses to its compressor: {name: dcd, bits:
// 8} is a compressor of 8 bits.
func (r *comparisonReader) lengthen(at string, entry map[string]any) {
	name, _ := entry["name"].(string)
	reduce, _ := entry["reduce"].(string)
	if reduce == "" {
		reduce = Default().Algorithm.Reduce
	}
	if row, ok := registry.Find(name, reduce); !ok || !row.Compresses() {
		return
	}
	compressor, ok := entry["compressor"].(map[string]any)
	if !ok && entry["compressor"] != nil {
		return // wrong in every cell
	}
	if compressor == nil {
		compressor = map[string]any{}
	}
	for _, short := range []string{"bits", "levels"} {
		value, given := entry[short]
		if !given {
			continue
		}
		if _, twice := compressor[short]; twice {
			r.wrong(join(at, short), "is short for compressor.%s, which is given, too", short)
		}
		compressor[short], entry["compressor"] = value, compressor
		delete(entry, short)
	}
}

var tunePattern = regexp.MustCompile(`^tune\((.*)\)$`)

// tuned reads a value like tune(0.1, 0.3, 1).
func tuned(o Override) (Choice, bool) {
	part := tunePattern.FindStringSubmatch(strings.TrimSpace(o.Value))
	if part == nil {
		return Choice{}, false
	}
	choice := Choice{Key: o.Key}
	for value := range strings.SplitSeq(part[1], ",") {
		choice.Values = append(choice.Values, strings.TrimSpace(value))
	}
	return choice, true
}

func (r *comparisonReader) seeds(root map[string]any) []uint64 {
	list, given := root["seeds"].([]any)
	if !given && root["seeds"] == nil {
		return []uint64{1, 2, 3}
	}
	if len(list) == 0 || len(list) > mostEntries {
		r.wrong("seeds", "must list 1 to %d seeds, like [1, 2, 3]", mostEntries)
		return []uint64{1}
	}
	var all []uint64
	for i, entry := range list {
		var seed uint64
		if !r.decode(entry, &seed) {
			r.wrong(fmt.Sprintf("seeds.%d", i), "must be a whole number from 0, got %s", show(entry))
		}
		if slices.Contains(all, seed) {
			r.wrong(fmt.Sprintf("seeds.%d", i), "seed %d is given twice", seed)
		}
		all = append(all, seed)
	}
	return all
}

// list returns the sections of a list; nil if the key is not there.
func (r *comparisonReader) list(root map[string]any, key string) []map[string]any {
	if root[key] == nil {
		return nil
	}
	values, ok := root[key].([]any)
	if !ok || len(values) == 0 || len(values) > mostEntries {
		r.wrong(key, "must be a list of 1 to %d sections", mostEntries)
		return nil
	}
	var all []map[string]any
	for i, value := range values {
		entry, ok := value.(map[string]any)
		if !ok {
			r.wrong(fmt.Sprintf("%s.%d", key, i), "must be a section, got %s", show(value))
			entry = map[string]any{}
		}
		all = append(all, entry)
	}
	return all
}

func (r *comparisonReader) section(root map[string]any, key string) map[string]any {
	known := comparisonKeysOf(key)
	section, ok := root[key].(map[string]any)
	if !ok && root[key] != nil {
		r.wrong(key, "must be a section with %s", strings.Join(known, ", "))
	}
	r.known(key, section, known)
	return section
}

// known finds keys of a section that do not exist.
func (r *comparisonReader) known(section string, values map[string]any, keys []string) {
	for name := range values {
		if slices.Contains(keys, name) {
			continue
		}
		where := "a comparison file"
		if section != "" {
			where = section
		}
		key := join(section, name)
		at := r.doc.nearest(key).key
		r.problems = append(r.problems, r.doc.at(Problem{
			Key: key, Message: fmt.Sprintf("unknown key; %s has %s", where, strings.Join(keys, ", ")),
			Hint: didYouMean(name, keys),
		}, at.Line, at.Column))
	}
}

// text reads a text, or a number as the text that stands in the file, for a label like 8.
func (r *comparisonReader) text(values map[string]any, key, standard string) string {
	value, given := values[key]
	if !given {
		return standard
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Sprint(value)
	}
	return text
}

func (r *comparisonReader) duration(values map[string]any, section, key string) time.Duration {
	var d Duration
	value, given := values[key]
	if given && d.UnmarshalText([]byte(fmt.Sprint(value))) != nil {
		r.wrong(join(section, key), "must be a duration like 20ms, got %s", show(value))
	}
	return time.Duration(d)
}

// count reads a whole number from 1; 0 if the key is not there.
func (r *comparisonReader) count(values map[string]any, section, key string) int {
	value, given := values[key]
	var n int
	if given && (!r.decode(value, &n) || n < 1) {
		r.wrong(join(section, key), "must be a whole number from 1, got %s", show(value))
	}
	return n
}

// decode stores a plain value in a variable and reports whether its type fits.
func (r *comparisonReader) decode(value, into any) bool {
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(text, into) == nil
}

func (r *comparisonReader) wrong(key, format string, args ...any) {
	at := r.doc.nearest(key).value
	r.problems = append(r.problems, r.doc.at(Problem{Key: key, Message: fmt.Sprintf(format, args...)}, at.Line, at.Column))
}

package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/internal/record"
)

// LoadComparison reads a comparison file, or an embedded one by name, and checks that every cell is a valid run file.
// The returned *Error lists all problems.
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
		c.scoreCells(env)
		problems = c.checkCells(r, env)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, inOrderOfTheFile)
		return nil, &Error{problems}
	}
	return c, nil
}

// checkBase reads the run file from which all cells start, so that a missing one is one problem, not one in every cell.
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

// evaluations is the number of evaluations during a cell whose run file asks for none, where a target needs some.
const evaluations = 40

// scoreCells makes cells evaluate their models where a target is an accuracy and the base asks for no evaluations.
func (c *Comparison) scoreCells(env []string) {
	loaded, err := Load(Source{File: c.Base, Env: env})
	if err != nil || c.Targets.Accuracy == 0 || loaded.Config.Output.Evaluate > 0 || loaded.Config.External() {
		return
	}
	rounds := int(loaded.Config.Train.Rounds)
	if c.Budget.Rounds > 0 {
		rounds = c.Budget.Rounds
	}
	c.Evaluate = max(1, rounds/evaluations)
}

// CheckTargets refuses the run file of a cell which cannot tell when a target is reached.
func (c *Comparison) CheckTargets(cell Config) error {
	if c.Targets.Accuracy > 0 && cell.Output.Evaluate == 0 && !cell.External() {
		return Errorf("output.evaluate", "is 0, so that no cell tells when accuracy %g is reached: give the rounds between "+
			"evaluations, or leave it out", c.Targets.Accuracy)
	}
	if cell.Train.Epochs > 0 { // the rounds are not known yet
		return nil
	}
	return cell.CheckRecords(c.Targets.Loss)
}

// CheckRecords refuses a run of so few records that they cannot tell when a loss is reached; 0 is no target.
func (c *Config) CheckRecords(loss float64) error {
	rounds, every := int(c.Train.Rounds), c.Output.Every
	if loss == 0 || rounds/every >= record.Smoothing {
		return nil
	}
	return Errorf("output.every", "is %d, so %d rounds have fewer records than the %d whose mean is compared with "+
		"loss %g: give fewer rounds between records", every, rounds, record.Smoothing, loss)
}

// checkCells loads the first cell of every algorithm on every network, because no rule depends on the seed. It reports
// a problem of an algorithm once, not for every network.
func (c *Comparison) checkCells(r *comparisonReader, env []string) []Problem {
	var problems, silent []Problem
	ids, said, told := map[string]string{}, map[[3]string]bool{}, false
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
			loaded, err := Load(Source{File: c.Base, Env: env, Set: Arguments(slices.Concat(cell.Set, choices))})
			problems = append(problems, r.inCell(c, cell, err, said)...)
			if err == nil {
				if err = c.CheckTargets(loaded.Config); err == nil {
					told = true
				}
				silent = append(silent, r.inCell(c, cell, err, said)...)
			}
		}
	}
	if !told { // a network may have fewer rounds than a target needs, to measure those, but not all of them
		problems = append(problems, silent...)
	}
	return problems
}

// inCell returns the problems of a cell at their places in the comparison, without those that were said before.
func (r *comparisonReader) inCell(c *Comparison, cell Cell, err error, said map[[3]string]bool) []Problem {
	var problems []Problem
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
	return problems
}

// problemsOf returns the problems of a run file.
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

// locate moves a problem of a cell to the network or the algorithm that causes it, and returns the label of the
// algorithm. The label of a problem of the base or of a network is "": it concerns all algorithms.
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

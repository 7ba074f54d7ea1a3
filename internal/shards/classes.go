package shards

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
)

// classes counts the rows of the user's own files by class.
type classes struct {
	names   []string
	trained []int // rows to train on, of all machines that this process knows
	tested  []int
	held    [][]int // rows of both kinds, by machine
}

// countClasses returns nil for sets whose splits are known to have all classes.
func countClasses(sources []*data.Source) *classes {
	c := &classes{names: sources[0].Info.Classes}
	c.trained, c.tested = make([]int, len(c.names)), make([]int, len(c.names))
	for _, s := range sources {
		train, test := s.Counts()
		if train == nil {
			return nil
		}
		held := make([]int, len(c.names))
		for k := range held {
			held[k] = train[k] + test[k]
			c.trained[k] += train[k]
			c.tested[k] += test[k]
		}
		c.held = append(c.held, held)
	}
	return c
}

// checkClasses refuses test rows of classes that no row to train on has, and notes classes that only one split or one
// machine has.
func (d *Dataset) checkClasses() error {
	if c := countClasses(d.sources); c != nil {
		// Other machines may have rows of any class.
		alone := d.local && len(d.sources) == 1 && (d.cfg.Topology.Size > 1 || d.cfg.Views())
		if err := d.checkUntrained(c, alone); err != nil {
			return err
		}
		untested := c.which(func(k int) bool { return c.trained[k] > 0 && c.tested[k] == 0 })
		if len(untested) > 0 {
			d.notes = append(d.notes, "no test row has a class of these: "+c.list(untested, c.trained))
		}
		if own := c.ofOneMachine(); own != "" {
			d.notes = append(d.notes, "one worker alone has rows of these classes: "+own)
		}
		for _, alike := range c.alike() {
			d.warnings = append(d.warnings, alikeClasses(d.name(), c.list(alike, c.both())))
		}
	}
	if unused := d.unusedClasses(); unused != "" {
		d.warnings = append(d.warnings, unused)
	}
	return nil
}

// name returns the name of the data for people.
func (d *Dataset) name() string {
	if path := d.cfg.Data.Path; d.cfg.Data.Name == "file" && path != "" {
		return path
	}
	return d.cfg.Data.Name
}

// checkUntrained refuses classes that only test rows have, unless the run file allows them or alone says that other
// machines may train on them.
func (d *Dataset) checkUntrained(c *classes, alone bool) error {
	if d.trained != nil && d.trained.Classes != nil {
		return nil // the model has trained on all classes
	}
	untrained := c.which(func(k int) bool { return c.trained[k] == 0 && c.tested[k] > 0 })
	if len(untrained) == 0 {
		return nil
	}
	list := c.list(untrained, c.tested)
	if alone {
		d.notes = append(d.notes, "this machine has test rows of classes that it has no rows to train on: "+list)
		return nil
	}
	if d.cfg.Data.UntrainedClasses == "allow" {
		d.warnings = append(d.warnings, untrainedClasses(d.name(), list))
		return nil
	}
	key := "data.test_share"
	switch {
	case d.cfg.Data.Name == "libsvm":
		key = "data.dir"
	case d.cfg.Data.Test != "":
		key = "data.test"
	}
	known := c.which(func(k int) bool { return c.trained[k] > 0 })
	e := configs.Errorf(key, "no row to train on has a class of these test rows: %s; rows to train on are of %s", list,
		c.list(known, c.trained))
	e.Problems[0].Hint = "write the classes alike in both files, or set data.untrained_classes: allow, which counts " +
		"these test rows as wrong"
	if key == "data.test_share" {
		e.Problems[0].Hint = "give more rows of these classes, name a file with data.test, or set " +
			"data.untrained_classes: allow, which counts these test rows as wrong"
	}
	return e.With("data.path", "data.label", "data.untrained_classes")
}

// which returns the classes that a condition holds of.
func (c *classes) which(holds func(k int) bool) (all []int) {
	for k := range c.names {
		if holds(k) {
			all = append(all, k)
		}
	}
	return all
}

// both returns the rows of each class.
func (c *classes) both() []int {
	all := make([]int, len(c.names))
	for k := range all {
		all[k] = c.trained[k] + c.tested[k]
	}
	return all
}

// list names classes with counts of rows, the first of many.
func (c *classes) list(which, rows []int) string {
	const most = 12
	var words []string
	for i, k := range which {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), len(which)-most)
		}
		words = append(words, fmt.Sprintf("%.40q (%s)", c.names[k], human.Count(rows[k], "row")))
	}
	return strings.Join(words, ", ")
}

// ofOneMachine names the classes that one of several machines has, "" if there are none.
func (c *classes) ofOneMachine() string {
	if len(c.held) < 2 {
		return ""
	}
	owner := make([]int, len(c.names))
	own := c.which(func(k int) bool {
		machines := 0
		for rank, held := range c.held {
			if held[k] > 0 {
				owner[k], machines = rank, machines+1
			}
		}
		return machines == 1
	})
	const most = 12
	var words []string
	for _, k := range own[:min(most, len(own))] {
		words = append(words, fmt.Sprintf("%.40q (worker %d, %s)", c.names[k], owner[k],
			human.Count(c.held[owner[k]][k], "row")))
	}
	if len(own) > most {
		words = append(words, fmt.Sprintf("and %d more", len(own)-most))
	}
	return strings.Join(words, ", ")
}

// alike returns the groups of classes whose names differ only in case, blanks and points at their ends.
func (c *classes) alike() (groups [][]int) {
	byName := map[string][]int{}
	for k, name := range c.names {
		folded := strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool {
			return r == ' ' || r == '\t' || r == '_' || r == '\u00a0'
		}), " "))
		if folded = strings.TrimRight(folded, ".,;: "); folded != "" {
			byName[folded] = append(byName[folded], k)
		}
	}
	for _, group := range byName {
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	slices.SortFunc(groups, slices.Compare)
	return groups
}

// unusedClasses warns of classes that the partition labels leaves out, "" if there are none.
func (d *Dataset) unusedClasses() string {
	names := d.sources[0].Info.Classes
	used := d.cfg.Topology.Size * d.cfg.Data.PerWorker
	if d.cfg.Data.Partition != "labels" || used >= len(names) {
		return ""
	}
	return classesWithoutWorker(d.name(), strings.Join(names[used:], ", "), d.cfg.Topology.Size, d.cfg.Data.PerWorker)
}

// alikeClasses warns of names that may mean one class.
func alikeClasses(file, list string) string {
	return fmt.Sprintf("%s: classes whose names differ only in case, blanks or a point at the end: %s: if they are one "+
		"class, write them alike", file, list)
}

// untrainedClasses warns of test rows that every model gets wrong.
func untrainedClasses(file, list string) string {
	return fmt.Sprintf("%s: no row to train on has a class of these test rows: %s: they count as wrong", file, list)
}

// classesWithoutWorker warns of classes that are in no shard.
func classesWithoutWorker(file, list string, workers, each int) string {
	return fmt.Sprintf("%s: no worker has rows of these classes, but test rows are of them: %s: %d workers with "+
		"data.per_worker: %d leave them out", file, list, workers, each)
}

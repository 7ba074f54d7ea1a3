package runfolder

import (
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// Facts returns what a run file adds to the record of its run.
func Facts(cfg configs.Config) explain.Facts {
	f := explain.Facts{Workers: cfg.Topology.Size, Entropy: cfg.Wire.Entropy != "none"}
	if c := cfg.Algorithm.Controller; c.Name != "" && c.Name != "fix" {
		f.LeastBits, f.MostBits = c.MinBits, c.MaxBits
	}
	return f
}

// Explain says in sentences why a run is slow and how it learns. A run file that this version cannot read adds nothing.
func Explain(run *record.Run) []explain.Sentence {
	facts := explain.Facts{}
	if file := filepath.Join(run.Dir, RunFile); safefile.Check(file) == nil {
		if loaded, err := configs.Load(configs.Source{File: file}); err == nil {
			facts = Facts(loaded.Config)
		}
	}
	for _, e := range run.Events {
		if e.Step != nil {
			facts.Workers = max(facts.Workers, e.Step.Rank+1)
		}
	}
	return explain.Sentences(explain.Of(facts, run.Events))
}

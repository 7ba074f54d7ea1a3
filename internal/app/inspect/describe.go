package inspect

import (
	"fmt"
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/live"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/plural"
	"gossiptrainer/topology"
)

// describeTopology names the graph of a run for people: ring of 8 with slack 0.2.
func describeTopology(run *experiment.Run) string {
	s := run.Graph().Spec()
	text := fmt.Sprintf("%s of %d", s.Kind, s.N)
	if s.Kind == topology.Torus {
		text = fmt.Sprintf("torus of %d by %d", s.Rows, s.Cols)
	}
	if s.Slack < 1 {
		text += fmt.Sprintf(" with slack %.4g", s.Slack)
	}
	return text
}

// describeAlgorithm names the algorithm of a run for people: dpsgd, moniqua 8 bit; choco with gamma 0.56, sign 1 bit.
func describeAlgorithm(run *experiment.Run) string {
	a := run.Config().Algorithm
	name := a.Name
	if a.Gamma > 0 && a.Gamma < 1 {
		name += fmt.Sprintf(" with gamma %.4g", float64(a.Gamma))
	}
	if label := run.Label(); label != a.Name {
		name += ", " + label
	}
	if run.Compresses() {
		name += ", " + a.Compressor.Name
	}
	if a.Levels > 0 && run.Label() != a.Name {
		return fmt.Sprintf("%s %d levels", name, a.Levels)
	}
	if c := a.Controller; c.Name != "fix" {
		return fmt.Sprintf("%s %d to %d bit by %s", name, c.MinBits, c.MaxBits, c.Name)
	}
	return fmt.Sprintf("%s %d bit", name, run.Bits())
}

// Live describes a run for the live display.
func Live(run *experiment.Run) live.Run {
	cfg := run.Config()
	return live.Run{
		Name: cfg.Name, Algorithm: describeAlgorithm(run), Topology: describeTopology(run),
		Peers: run.N(), Rounds: cfg.Train.Rounds,
	}
}

// setName names the data set of a run for people.
func setName(cfg configs.Config) string {
	if cfg.Data.Name == "file" {
		return filepath.Base(cfg.Data.Path)
	}
	return cfg.Data.Name
}

// Describe describes a run in one line.
func Describe(run *experiment.Run) string {
	cfg := run.Config()
	learns := cfg.Model.Name
	if cfg.LearnsFromData() {
		learns += " on " + setName(cfg)
	}
	size := plural.Of(run.Dim(), "parameter")
	if run.Dim() == 0 {
		size = "a size that is known once its script joins"
	}
	return fmt.Sprintf("%s: %s, %s, %s with %s, %s", cfg.Name, describeTopology(run), describeAlgorithm(run), learns,
		size, plural.Of(cfg.Train.Rounds, "round"))
}

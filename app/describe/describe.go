package describe

import (
	"fmt"
	"path/filepath"

	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/topology"
)

// describeTopology names the graph of a run for people.
func describeTopology(run *experiment.Run) string { return Graph(run.Graph().Spec()) }

// Graph names a graph for people: ring of 8 with slack 0.2.
func Graph(s topology.Spec) string {
	text := fmt.Sprintf("%s of %d", s.Kind, s.N)
	if s.Kind.Takes("rows") {
		text = fmt.Sprintf("%s of %d by %d", s.Kind, s.Rows, s.Cols)
	}
	if s.Slack < 1 {
		text += fmt.Sprintf(" with slack %.4g", s.Slack)
	}
	return text
}

// Live describes a run for the live display.
func Live(run *experiment.Run) screen.Run {
	cfg := run.Config()
	return screen.Run{
		Name: cfg.Name, Method: cfg.Method().String(), Topology: describeTopology(run),
		Peers: run.N(), Rounds: cfg.Train.Rounds.Known(), Open: cfg.Views(),
	}
}

// setName names the data set of a run for people.
func setName(cfg configs.Config) string {
	if cfg.Data.Name == "file" {
		return filepath.Base(cfg.Data.Path)
	}
	return cfg.Data.Name
}

// Run describes a run in one line.
func Run(run *experiment.Run) string {
	cfg := run.Config()
	learns := cfg.Model.Name
	if cfg.LearnsFromData() {
		learns += " on " + setName(cfg)
	}
	size := human.Count(run.Dim(), "parameter")
	if run.Dim() == 0 {
		size = "a size that is known once its script joins"
	}
	method := cfg.Method().String()
	if gamma := float64(cfg.Algorithm.Gamma); gamma > 0 && gamma < 1 {
		method += fmt.Sprintf(" with gamma %.4g", gamma)
	}
	rounds := human.Count(int(cfg.Train.Rounds), "round")
	if cfg.Train.Rounds == configs.ByScript {
		rounds = "as many rounds as the longest script has steps"
	}
	return fmt.Sprintf("%s: %s, %s, %s with %s, %s", cfg.Name, describeTopology(run), method, learns, size, rounds)
}

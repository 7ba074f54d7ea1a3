package runfolder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/train"
	"gossiptrainer/topology"
)

// The files of a run folder. Package record has the names of the others.
const (
	RunFile     = "run.yaml"    // the resolved run file, without secrets
	Checkpoints = "checkpoints" // a folder with one for each rank
	Key         = "key"         // of a peer of a lab, beside its checkpoints

	// peerIDName holds the id of the peer that a run folder belongs to. The folder of a
	// lab belongs to all its peers and has none.
	peerIDName = "peer-id"

	// rankPrefix begins the name of the folder of the checkpoints of a rank.
	rankPrefix = "rank-"
)

// Readable is the mode of results.
const Readable fs.FileMode = 0o644

// CheckpointsOf returns the folder of the checkpoints of all ranks of a run.
func CheckpointsOf(cfg configs.Config, folder string) string {
	if cfg.Checkpoint.Dir != "" {
		return cfg.Checkpoint.Dir
	}
	return filepath.Join(folder, Checkpoints)
}

// RankFolder returns the folder of the checkpoints of one rank.
func RankFolder(cfg configs.Config, folder string, rank int) string {
	return filepath.Join(CheckpointsOf(cfg, folder), rankPrefix+strconv.Itoa(rank))
}

// SimFolder returns the folder of the checkpoints of a simulation, which has all ranks.
func SimFolder(cfg configs.Config, folder string) string {
	return filepath.Join(CheckpointsOf(cfg, folder), "sim")
}

// ModelPath returns where the final model of a rank is, in the folder of its run.
func ModelPath(dir string, rank int) string {
	return filepath.Join(dir, "peer-"+strconv.Itoa(rank)+".safetensors")
}

// NewestModel returns the final model with the largest rank in a folder, and whether there is one. A member gets a
// larger id in each life.
func NewestModel(dir string) (path string, there bool) {
	entries, _ := os.ReadDir(dir) // one that cannot be read has none
	newest := -1
	for _, e := range entries {
		var rank int
		if _, err := fmt.Sscanf(e.Name(), "peer-%d.safetensors", &rank); err == nil && rank >= 0 &&
			filepath.Join(dir, e.Name()) == ModelPath(dir, rank) {
			newest = max(newest, rank)
		}
	}
	return ModelPath(dir, newest), newest >= 0
}

// ReplicasPath returns where the final models of all ranks are that are in one file.
func ReplicasPath(dir string) string { return filepath.Join(dir, train.ReplicasFile) }

// AveragePath returns where the mean of the final models is, in the folder of a run whose models are on one machine.
func AveragePath(dir string) string { return filepath.Join(dir, "model.safetensors") }

// Held returns the rank whose state a peer has kept in the folder of its run, or in checkpoint.dir. It is nil if there
// is no state, or that of several ranks: then any peer may take any of them.
func Held(cfg configs.Config, folder string) *topology.Rank {
	ranks := RanksIn(CheckpointsOf(cfg, folder))
	if len(ranks) != 1 {
		return nil
	}
	rank := topology.Rank(ranks[0])
	return &rank
}

// RanksIn returns the ranks that have a checkpoint in a folder of checkpoints.
func RanksIn(dir string) (ranks []int) {
	entries, _ := os.ReadDir(dir) // one that cannot be read has none
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), rankPrefix)
		rank, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		if _, there := checkpoint.Newest(filepath.Join(dir, e.Name())); there {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	return ranks
}

package runfolder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/safefile"
)

// The holders of a run folder that are not the id of a peer.
const (
	OfLab   = "lab"
	unknown = "" // from a version that did not mark folders
)

// A candidate is a run folder with a checkpoint.
type candidate struct {
	dir    string
	holder string
	ranks  []int // that have a checkpoint, increasing
}

// Find returns the folder to resume: the newest with a checkpoint and this holder, the id of a peer or OfLab. The error
// wraps checkpoint.ErrNone if there is none.
func Find(cfg configs.Config, holder string) (string, error) {
	dirs, err := runFolders(cfg)
	if err != nil {
		return "", err
	}
	var unmarked, others []candidate
	for _, dir := range dirs {
		c := candidate{dir: dir, ranks: RanksIn(filepath.Join(dir, Checkpoints))}
		if len(c.ranks) == 0 {
			continue
		}
		switch c.holder = holderOf(c); c.holder {
		case holder:
			return dir, nil
		case unknown:
			unmarked = append(unmarked, c)
		default:
			others = append(others, c)
		}
	}
	if holder != OfLab && len(unmarked) > 0 {
		return newestUnmarked(unmarked)
	}
	return "", noFolder(cfg, holder, append(others, unmarked...))
}

// FindSim returns the newest folder of a simulation of this name with a checkpoint. The error wraps checkpoint.ErrNone
// if there is none.
func FindSim(cfg configs.Config) (string, error) {
	dirs, err := runFolders(cfg)
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if _, there := checkpoint.Newest(SimFolder(cfg, dir)); there {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w of a run %s by peer sim in %s", checkpoint.ErrNone, cfg.Name, cfg.Output.Dir)
}

// newestUnmarked returns the newest of the unmarked folders. Their checkpoints must be of the same ranks, because
// several peers may have made them.
func newestUnmarked(unmarked []candidate) (string, error) {
	for _, c := range unmarked[1:] {
		if !slices.Equal(c.ranks, unmarked[0].ranks) {
			return "", advice.Usage(
				fmt.Errorf("--resume: %s and %s are of different ranks, and neither says which peer it belongs to",
					unmarked[0].dir, c.dir),
				"name the folder of this peer in place of the run file",
			)
		}
	}
	return unmarked[0].dir, nil
}

// noFolder says that a holder has no folder with a checkpoint, and names the other holders.
func noFolder(cfg configs.Config, holder string, others []candidate) error {
	if len(others) == 0 {
		return fmt.Errorf("%w of a run %s in %s", checkpoint.ErrNone, cfg.Name, cfg.Output.Dir)
	}
	other := others[0]
	whose := "another peer"
	if other.holder == OfLab {
		whose = "peer lab"
	}
	if holder == OfLab {
		return advice.With(
			fmt.Errorf("%w of a run %s by peer lab in %s", checkpoint.ErrNone, cfg.Name, cfg.Output.Dir),
			fmt.Sprintf("%s is of peer run: start without --resume, or go on with peer run", other.dir),
		)
	}
	return advice.With(
		fmt.Errorf("%w of a run %s by this peer, %s, in %s", checkpoint.ErrNone, cfg.Name, holder, cfg.Output.Dir),
		fmt.Sprintf("%s is of %s: node.key must name the key with which this peer began; "+
			"if it began elsewhere, name its folder", other.dir, whose),
	)
}

// runFolders returns the folders of the runs of this name, the newest first.
func runFolders(cfg configs.Config) ([]string, error) {
	entries, err := os.ReadDir(cfg.Output.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("output: %w", err)
	}
	ofRun := regexp.MustCompile("^" + regexp.QuoteMeta(cfg.Name) + `-(\d{8}-\d{6})(?:-(\d+))?$`)
	type named struct {
		stamp string
		nth   int // of those of one second
		dir   string
	}
	var all []named
	for _, e := range entries {
		if m := ofRun.FindStringSubmatch(e.Name()); m != nil {
			nth, _ := strconv.Atoi(m[2]) // the first has no number
			all = append(all, named{m[1], nth, filepath.Join(cfg.Output.Dir, e.Name())})
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(strings.Compare(b.stamp, a.stamp), b.nth-a.nth)
	})
	dirs := make([]string, len(all))
	for i, n := range all {
		dirs[i] = n.dir
	}
	return dirs, nil
}

// holderOf returns the id of the peer that owns a run folder, or OfLab. The peers of a lab have their keys beside their
// checkpoints.
func holderOf(c candidate) string {
	const longest = 1 << 10 // bytes of an id
	if id, err := safefile.Read(filepath.Join(c.dir, peerIDName), longest); err == nil {
		return strings.TrimSpace(string(id))
	}
	key := filepath.Join(c.dir, Checkpoints, rankPrefix+strconv.Itoa(c.ranks[0]), Key)
	if safefile.Check(key) == nil {
		return OfLab
	}
	return unknown
}

// OfPeer reports whether the folder of a run belongs to one peer on a LAN.
func OfPeer(dir string) bool { return safefile.Check(filepath.Join(dir, peerIDName)) == nil }

package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
)

// runsOf makes run folders "run-20260504-<name>". Each has these files;
// one that ends with a slash is a folder.
func runsOf(t *testing.T, folders map[string][]string) configs.Config {
	t.Helper()
	cfg := configs.Default()
	cfg.Name, cfg.Output.Dir = "run", t.TempDir()
	for name, files := range folders {
		dir := filepath.Join(cfg.Output.Dir, "run-20260504-"+name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			path, text, _ := strings.Cut(filepath.Join(dir, file), "=")
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "/") {
				if err := os.MkdirAll(path, 0o777); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, []byte(text+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cfg
}

// checkpointOf is the folder of a checkpoint of a rank.
func checkpointOf(rank int) string {
	return "checkpoints/rank-" + strconv.Itoa(rank) + "/round-00000030/"
}

func TestResumeTakesTheNewestFolderOfItsPeer(t *testing.T) {
	const mine, other = "peer-id=mine", "peer-id=other"
	labKey := "checkpoints/rank-0/key=k"
	for name, tt := range map[string]struct {
		holder  string
		folders map[string][]string
		want    string
	}{
		"one without a checkpoint is no place to go on": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "100001": {mine, "checkpoints/rank-1/journal/"}, "100002": {mine},
		}, "100000"},
		"another peer began later": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "100001": {other, checkpointOf(0)},
		}, "100000"},
		"ten in one second": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "100000-2": {mine, checkpointOf(1)}, "100000-10": {mine, checkpointOf(1)},
		}, "100000-10"},
		"an earlier version marked no folder": {"mine", map[string][]string{
			"100000": {checkpointOf(1)}, "100001": {checkpointOf(1)}, "100002": {other, checkpointOf(0)},
		}, "100001"},
		"its own before one that nobody marked": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "100001": {checkpointOf(1)},
		}, "100000"},
		"a lab in the same folder": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "100001": {labKey, checkpointOf(0), checkpointOf(1)},
		}, "100000"},
		"a lab beside peers": {OfLab, map[string][]string{
			"100000": {labKey, checkpointOf(0), checkpointOf(1)}, "100001": {mine, checkpointOf(1)}, "100002": {checkpointOf(1)},
		}, "100000"},
		"another run": {"mine", map[string][]string{
			"100000": {mine, checkpointOf(1)}, "x-20260504-100001": {mine, checkpointOf(1)},
		}, "100000"},
	} {
		cfg := runsOf(t, tt.folders)
		got, err := Find(cfg, tt.holder)
		if want := filepath.Join(cfg.Output.Dir, "run-20260504-"+tt.want); err != nil || got != want {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, want)
		}
	}
}

func TestResumeSaysWhoseFoldersThereAre(t *testing.T) {
	for want, tt := range map[string]struct {
		holder  string
		folders map[string][]string
		hint    string
	}{
		"no checkpoint of a run run by this peer, mine, in ": {"mine", map[string][]string{
			"100000": {"peer-id=other", checkpointOf(1)},
		}, "run-20260504-100000 is of another peer: node.key must name the key"},
		"no checkpoint of a run run by peer lab in ": {OfLab, map[string][]string{
			"100000": {"peer-id=other", checkpointOf(1)},
		}, "run-20260504-100000 is of peer run"},
		"no checkpoint of a run run in ": {"mine", map[string][]string{
			"100000": {"peer-id=mine", "checkpoints/rank-1/"},
		}, "start without --resume"},
	} {
		cfg := runsOf(t, tt.folders)
		_, err := Find(cfg, tt.holder)
		err = HintNothing(cfg, err)
		if !errors.Is(err, checkpoint.ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if hinted, ok := errors.AsType[*advice.Error](err); !ok || !strings.Contains(hinted.Hint(), tt.hint) {
			t.Errorf("hint %v, want %q", hinted, tt.hint)
		}
	}
	cfg := runsOf(t, map[string][]string{"100000": {checkpointOf(1)}, "100001": {checkpointOf(0)}})
	_, err := Find(cfg, "mine")
	usage, ok := errors.AsType[*advice.UsageError](err)
	if !ok || !strings.Contains(usage.Hint(), "name the folder of this peer") {
		t.Errorf("two peers of an earlier version: error %v", err)
	}
}

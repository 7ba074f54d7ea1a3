package runfolder

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
)

// checkpoints writes an empty state of some ranks at these rounds.
func checkpoints(t *testing.T, cfg configs.Config, folder string, rounds map[int]int) {
	t.Helper()
	for rank, round := range rounds {
		m := checkpoint.Manifest{Run: cfg.Name, Rank: rank, Round: round}
		if err := checkpoint.Write(RankFolder(cfg, folder, rank), m, new(state.Snapshot), 2); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSafeRoundsAreThoseOfAllRanks(t *testing.T) {
	cfg, folder := configs.Default(), t.TempDir()
	if _, _, there := SafeRounds(cfg, folder, 4); there {
		t.Error("a folder without checkpoints has safe rounds")
	}
	checkpoints(t, cfg, folder, map[int]int{0: 30, 2: 20, 3: 25})
	if low, high, there := SafeRounds(cfg, folder, 4); !there || low != 20 || high != 30 {
		t.Errorf("rounds %d to %d, there %v, want 20 to 30", low, high, there)
	}
	if got := RanksIn(CheckpointsOf(cfg, folder)); !slices.Equal(got, []int{0, 2, 3}) {
		t.Errorf("ranks %v", got)
	}
	cfg.Checkpoint.Dir = t.TempDir() // elsewhere there are none
	if _, _, there := SafeRounds(cfg, folder, 4); there {
		t.Error("checkpoints of another folder count")
	}
}

func TestRoundsAreNamedForPeople(t *testing.T) {
	if one, two := NameRounds(7, 7), NameRounds(7, 9); one != "round 7" || two != "rounds 7 to 9" {
		t.Errorf("%q and %q", one, two)
	}
}

func TestAMissingCheckpointIsExplained(t *testing.T) {
	none := fmt.Errorf("%w in runs", checkpoint.ErrNone)
	for want, change := range map[string]func(*configs.Config){
		"the run ended before its first checkpoint, or is kept elsewhere": func(*configs.Config) {},
		"with the policy reweight no checkpoints are taken: start without": func(c *configs.Config) {
			c.Faults.OnLostNeighbor = "reweight"
		},
		"checkpoint.every and checkpoint.seconds are 0, so none are taken: start": func(c *configs.Config) {
			c.Checkpoint.Every, c.Checkpoint.Seconds = 0, 0
		},
	} {
		cfg := configs.Default()
		change(&cfg)
		err := HintNothing(cfg, none)
		hinted, ok := errors.AsType[*advice.Error](err)
		if !ok || !errors.Is(err, checkpoint.ErrNone) || !strings.HasPrefix(hinted.Hint(), want) {
			t.Errorf("error %v, want the hint %q", err, want)
		}
		if again := HintNothing(cfg, err); again != err {
			t.Errorf("an error that has a hint became %v", again)
		}
	}
	other := errors.New("damaged")
	if err := HintNothing(configs.Default(), other); err != other {
		t.Errorf("another error became %v", err)
	}
}

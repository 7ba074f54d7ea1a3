package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

// A run whose workers differ in sizes, weights and label noise ends the same in the simulator and in processes.
func TestUnevenDataInTheSimulatorAndInTheLab(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	if raced() {
		t.Skip("it simulates, and its peers do what others do")
	}
	t.Parallel()
	dir := t.TempDir()
	args := []string{"uneven8", "--set", "topology.size=4", "--set", "data.label_noise=[0, 0.3, 0, 0.1]", "--set",
		"train.epochs=1", "--set", "output={dir: out, evaluate: 30}"}
	want := digestPrinted(t, dir, append([]string{"sim"}, args...)...)
	if got := digestPrinted(t, dir, append([]string{"lab"}, args...)...); got != want {
		t.Errorf("lab: digest %.8s, sim %.8s", got, want)
	}
	even := digestPrinted(t, dir, append([]string{"sim"}, append(args, "--set", "data.weights=workers")...)...)
	if even == want {
		t.Error("weights change nothing")
	}
}

func TestSplitInJSON(t *testing.T) {
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "data", "split", "uneven8", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var split struct {
		Counts [][]int
		Sizes  []int
		Wrong  []int `json:"labels_replaced"`
	}
	if err := json.Unmarshal(out, &split); err != nil {
		t.Fatal(err)
	}
	if want := []int{4415, 2207, 1472, 1104, 883, 736, 631, 552}; !slices.Equal(split.Sizes, want) {
		t.Errorf("sizes %v, want %v", split.Sizes, want)
	}
	if len(split.Counts) != 8 || split.Wrong[6] != 252 || split.Wrong[0] != 0 {
		t.Errorf("%d workers, wrong labels %v", len(split.Counts), split.Wrong)
	}
}

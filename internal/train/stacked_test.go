package train

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/model"
)

// Replicas that are stacked in one file return one by one, and can be averaged.
func TestStackedReplicasReturn(t *testing.T) {
	const n = 5
	layout := []model.Param{{Name: "w", Shape: []int{2, 3}}, {Name: "b", Off: 6, Shape: []int{3}}}
	replica := func(i int) Saved {
		x := make([]float32, 9)
		for c := range x {
			x[c] = float32(10*i + c)
		}
		return Saved{Layout: layout, Parts: slices.Values([][]float32{x[:4], x[4:]})} // parts do not follow tensors
	}
	path := filepath.Join(t.TempDir(), ReplicasFile)
	if err := WriteReplicas(path, n, map[string]string{"run": "a"}, replica); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		got, err := ReadReplica(fmt.Sprintf("%s:%d", path, i))
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Concat(slices.Collect(replica(i).Parts)...); !slices.Equal(got.X, want) {
			t.Errorf("replica %d: %v, want %v", i, got.X, want)
		}
		if len(got.Layout) != 2 || !slices.Equal(got.Layout[0].Shape, []int{2, 3}) || got.Metadata["run"] != "a" {
			t.Errorf("replica %d: layout %v, metadata %v", i, got.Layout, got.Metadata)
		}
	}
	mean := filepath.Join(t.TempDir(), "mean.safetensors")
	if _, err := (Averaging{Files: []string{path + ":1", path + ":3"}}).Write(mean); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(mean); err != nil || got.X[0] != 20 || got.X[8] != 28 {
		t.Errorf("mean %v, %v", got.X, err)
	}
	for _, number := range []string{"5", "-1", "x"} {
		_, err := ReadReplica(path + ":" + number)
		if err == nil || number == "5" && !strings.Contains(err.Error(), "no replica 5") {
			t.Errorf("replica %s: %v", number, err)
		}
	}
}

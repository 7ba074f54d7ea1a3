package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

var replicas = map[string]decoder{"replicas": func(t *testing.T, d document, name string) {
	want := [][]float32{{1, 2, 3}, {4, 5, 6}}
	layout := []model.Param{{Name: "w", Shape: []int{2}}, {Name: "b", Off: 2, Shape: []int{1}}}
	path := filepath.Join(t.TempDir(), train.ReplicasFile)
	metadata := map[string]string{"format": "pt", "peers": "2", "rank": "all"}
	if err := train.WriteReplicas(path, len(want), metadata, func(i int) train.Saved {
		return train.Saved{X: want[i], Layout: layout}
	}); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, name, made, d.bytes(t, name))
	if err := os.WriteFile(path, d.bytes(t, name), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, x := range want {
		got, err := train.ReadReplica(fmt.Sprintf("%s:%d", path, i))
		if err != nil || !slices.Equal(got.X, x) {
			t.Errorf("replica %d: %v and %v, want %v", i, got.X, err, x)
		}
	}
}}

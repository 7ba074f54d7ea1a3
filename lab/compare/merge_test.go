package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
)

// shardOf runs a part of a comparison whose cells all diverge, in a folder of its own.
func shardOf(t *testing.T, text string, version string) (file *configs.Comparison, dir string, o Options) {
	t.Helper()
	m := smallMatrix(t, "echo 'peer: sim: worker 3 round 7: diverged' >&2\nexit 5\n")
	file, o = m.file, m.Options
	file.Seeds, file.Networks = []uint64{1, 2}, []configs.NetworkCase{{Name: "n"}, {Name: "o"}}
	o.Only, o.Process.Version = nil, version
	o.Dir = filepath.Join(t.TempDir(), "out")
	var err error
	if o.Shard, err = ParseShard(text); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		o.Process.Command += " --shard " + text
	}
	made, err := New(file, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Do(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return file, o.Dir, o
}

// Shards that are put together have the result of one run, from which the report is made.
func TestMergedShardsAreOneComparison(t *testing.T) {
	file, whole, o := shardOf(t, "", "v1")
	var from []string
	for _, text := range []string{"1/3", "2/3", "3/3"} {
		_, dir, _ := shardOf(t, text, "v1")
		from = append(from, dir)
	}
	o.Dir = filepath.Join(t.TempDir(), "merged")
	m, err := Merge(t.Context(), file, o, from)
	if err != nil {
		t.Fatal(err)
	}
	read := func(dir string) *cells.Comparison {
		c, err := cells.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.Made = ""
		return c
	}
	if diff := cmp.Diff(read(whole), read(m.Dir)); diff != "" {
		t.Errorf("one run and merged shards differ:\n%s", diff)
	}
	if len(read(m.Dir).Cells) != 8 || len(read(from[0]).Cells) == 8 {
		t.Errorf("%d cells of %d in the first shard", len(read(m.Dir).Cells), len(read(from[0]).Cells))
	}
}

func TestWhatCannotBeMergedIsRefused(t *testing.T) {
	file, first, o := shardOf(t, "1/2", "v1")
	_, second, _ := shardOf(t, "2/2", "v1")
	_, other, _ := shardOf(t, "2/2", "v2")
	_, slower, _ := shardOf(t, "2/2", "v1")
	edit(t, filepath.Join(slower, cells.ComparisonFile), func(c map[string]any) { c["compute_s"] = 0.002 })
	o.Shard = Shard{}
	for _, test := range []struct {
		name string
		from []string
		set  []string
		want string
	}{
		{"a part is missing", []string{first}, nil, "no folder has 4 of 8 cells of small: "},
		{"a part twice", []string{first, second, first}, nil, "both have cell "},
		{"another version", []string{first, other}, nil, `the version of ` + first + ` is "v1"`},
		{"another time of a gradient", []string{first, slower}, nil, "the time of a gradient"},
		{"other settings", []string{first, second}, []string{"train.rounds=7"}, "has other settings than small"},
		{"no comparison", []string{first, t.TempDir()}, nil, "comparison"},
	} {
		o.Dir, o.Set = filepath.Join(t.TempDir(), "merged"), test.set
		if _, err := Merge(t.Context(), file, o, test.from); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("%s: the new folder is there", test.name)
		}
	}
	o.Dir, o.Set = first, nil
	_, err := Merge(t.Context(), file, o, []string{second})
	if err == nil || !strings.Contains(err.Error(), "new folder") {
		t.Errorf("into a part: %v", err)
	}
	o.Shard = Shard{1, 2}
	if _, err := Merge(t.Context(), file, o, []string{second}); err == nil || !strings.Contains(err.Error(), "--shard") {
		t.Errorf("with a shard: %v", err)
	}
}

// edit changes a JSON file.
func edit(t *testing.T, path string, change func(c map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if err := writeResult(path, c); err != nil {
		t.Fatal(err)
	}
}

func TestShardsHaveEveryCellOnce(t *testing.T) {
	for _, text := range []string{"0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", "1/10001"} {
		if s, err := ParseShard(text); err == nil || !strings.Contains(err.Error(), "like 2/4") {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	var cells []configs.Cell
	for _, network := range []string{"n", "o"} {
		for _, label := range []string{"a", "b", "c"} {
			for seed := range uint64(3) {
				cells = append(cells, configs.Cell{Label: label, Network: network, Seed: seed})
			}
		}
	}
	count := map[string]int{}
	for part := range 4 {
		size := 0
		for id, mine := range (Shard{part + 1, 4}).takes(cells) {
			if mine {
				count[id]++
				size++
			}
		}
		if size != 4 && size != 6 {
			t.Errorf("part %d has %d of 18 cells", part+1, size)
		}
	}
	for _, cell := range cells {
		if count[cell.ID()] != 1 {
			t.Errorf("cell %s is in %d parts", cell, count[cell.ID()])
		}
	}
}

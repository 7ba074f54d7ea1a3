package build

import (
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/internal/experiment"
	compared "gossiptrainer/internal/settings"
)

// Two machines refuse each other where the simulator refuses their files: they compare what DataHeld says.
func TestMachinesCompareWhatTheSimulatorCompares(t *testing.T) {
	table := func(header string) string {
		return header + "\n" + strings.Repeat("1,2,3,4,a\n5,6,7,8,b\n", 4)
	}
	for name, test := range map[string]struct {
		first, second func(t *testing.T, dir string)
		want          string
	}{
		"another order": {csv(table("w,x,y,z,class")), csv(table("w,y,x,z,class")), "data set.column.2 is y here, x there"},
		"another name":  {csv(table("w,x,y,z,class")), csv(table("w,x,y,q,class")), "data set.column.4 is q here, z there"},
		"another label": {csv(table("w,x,y,z,class")), csv(table("w,x,y,z,kind")),
			"data set.label_column is kind here, class there"},
		"without names": {csv(table("w,x,y,z,class")), csv(table("1,2,3,4,a")), "data set.column.1 is  here, w there"},
		"names":         {csv(table("1,2,3,4,a")), csv(table("w,x,y,z,class")), "data set.column.1 is w here,  there"},
		"sparse text": {csv(strings.Repeat("1,2,3,4,1\n5,6,7,8,0\n", 4)),
			csv(strings.Repeat("1 1:2 4:1\n0 1:1 2:3 3:1 4:2\n", 4)),
			"data set.first_index is 1 here,  there"},
		"other shapes": {pictures(4, 2), pictures(2, 4), "data set.shape is 4x2x1 here, 2x4x1 there"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for rank, write := range []func(*testing.T, string){test.first, test.second} {
				folder := filepath.Join(dir, string(rune('0'+rank)), "d.csv")
				write(t, folder)
			}
			const form = "data={name: file, partition: local, path: '"
			if _, err := runOf(t, "train.batch=1", form+dir+"/{rank}/d.csv'}"); err == nil {
				t.Error("the simulator takes these files")
			}
			of := func(rank string) map[string]json.RawMessage {
				run, err := runOf(t, "train.batch=1", form+filepath.Join(dir, rank, "d.csv")+"'}")
				if err != nil {
					t.Fatal(err)
				}
				text, err := run.Data().Held()
				if err != nil {
					t.Fatal(err)
				}
				return map[string]json.RawMessage{"data set": text}
			}
			var said []string
			for _, d := range compared.Differences(of("0"), of("1")) {
				said = append(said, d.Key+" is "+d.Now+" here, "+d.Then+" there")
			}
			if all := strings.ReplaceAll(strings.Join(said, "; "), `"`, ""); !strings.Contains(all, test.want) {
				t.Errorf("they tell each other %q, want %q", all, test.want)
			}
		})
	}
}

// csv writes a table.
func csv(text string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// pictures writes a folder with two classes of grey pictures.
func pictures(width, height int) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		for _, name := range []string{"a/1.png", "a/2.png", "b/1.png", "b/2.png"} {
			file := filepath.Join(path, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Machines with files of their own compare the same settings, and train the rounds of the simulator once they know each
// other's rows. Other numbers of rows change nothing. A list that the run file states must be right.
func TestMachinesWithOwnDataTrainTheSameEpochs(t *testing.T) {
	dir, rows := t.TempDir(), []int{32, 14}
	for rank, pairs := range []int{20, 9} { // a fifth of the rows is for tests
		rows := strings.Repeat("1,2,a\n3,4,b\n", pairs)
		csv("w,x,class\n"+rows)(t, filepath.Join(dir, string(rune('0'+rank)), "d.csv"))
	}
	of := func(rank string, set ...string) *experiment.Run {
		data := "data={name: file, partition: local, weights: samples, path: '" + filepath.Join(dir, rank, "d.csv") + "'}"
		// the slack of this graph is chosen for its exchanges
		graph := "topology={kind: random-matching, size: 2}"
		run, err := runOf(t, append([]string{data, graph, "algorithm.bits=2", "train.epochs=3", "train.batch=2"}, set...)...)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	want := of("{rank}")
	if got := want.Config().Train.Rounds; got != 35 { // 3 epochs of 46 rows, 4 rows a round
		t.Fatalf("%d rounds in the simulator", got)
	}
	const stated = "data.sizes={law: shares, shares: [32, 14]}"
	sections := of("0").PeerSections()
	for _, machine := range []*experiment.Run{of("0"), of("1"), of("0", stated), of("1", stated)} {
		if diff := cmp.Diff(sections, machine.PeerSections()); diff != "" {
			t.Errorf("machines refuse each other: %s", diff)
		}
		if own, apart := machine.Data().Apart(); !apart || !slices.Contains(rows, own) {
			t.Errorf("%d rows of its own, apart from others: %v", own, apart)
		}
		agreed, err := machine.WithRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		one, err := experiment.Weights(agreed)
		all, failed := experiment.Weights(want)
		got, is := agreed.Config(), want.Config()
		if errors.Join(err, failed) != nil || got.Train.Rounds != is.Train.Rounds ||
			got.Topology.Slack != is.Topology.Slack || !slices.Equal(one, all) {
			t.Errorf("%d rounds, slack %v, weights %v, errors %v, %v; want those of the simulator: %d, %v, %v", got.Train.Rounds,
				got.Topology.Slack, one, err, failed, is.Train.Rounds, is.Topology.Slack, all)
		}
		again, err := agreed.WithRows([]int{32, 13})
		const other = "worker 1 have 13 samples to train on, but the list says 14"
		if again != nil || err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("error %v, want that other rows are stated", err)
		}
	}
	if notes := of("1").Notes(); len(notes) != 1 || !strings.Contains(notes[0], "having the 14 to train on") {
		t.Errorf("notes %q, want that the other rows are not known", notes)
	}
	_, err := runOf(t, "data={name: file, partition: local, path: '"+filepath.Join(dir, "{rank}", "d.csv")+"'}",
		"data.sizes={law: shares, shares: [30, 16]}")
	if err == nil || !strings.Contains(err.Error(), "worker 0 have 32 samples to train on, but the list says 30") {
		t.Errorf("error %v, want that other rows are stated", err)
	}
}

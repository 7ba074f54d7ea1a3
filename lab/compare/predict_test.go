package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/shape"
)

func TestMessagesLeaveALinkOneAfterTheOther(t *testing.T) {
	link := shape.Link{Rate: 8e6, Latency: 10 * time.Millisecond} // a byte each microsecond
	if got := hop(link, time.Second, 3, 1000); got != time.Second+3*time.Millisecond+link.Latency {
		t.Errorf("three messages of 1 ms have arrived at %v", got)
	}
}

func TestCellsThatDifferInTheirNetworkRunTogether(t *testing.T) {
	m := smallMatrix(t, "exit 1\n")
	m.file.Networks = []configs.NetworkCase{{Name: "slow",
		Set: []configs.Override{{Key: "limit.rate", Value: "1mbit"}}}, {Name: "fast"}}
	m.cells = m.file.Cells()
	groups, err := m.groups([]int{0, 1, 2, 3})
	if err != nil || len(groups) != 2 || len(groups[0]) != 2 || len(groups[1]) != 2 {
		t.Fatalf("groups %v, error %v, want two of two", groups, err)
	}
	for _, group := range groups {
		if cells := pick(m.cells, group); cells[0].Label != cells[1].Label || cells[0].Network == cells[1].Network {
			t.Errorf("together: %v", cells)
		}
	}
	m.timed["a"] = true // its parameters depend on the network
	if groups, err = m.groups([]int{0, 1, 2, 3}); err != nil || len(groups) != 3 {
		t.Errorf("groups %v, error %v, want the cells of one algorithm apart", groups, err)
	}
	m.file.Mode = "lab"
	if groups, _ = m.groups([]int{0, 1, 2, 3}); !slices.EqualFunc(groups, []int{0, 1, 2, 3}, func(g []int, i int) bool {
		return len(g) == 1 && g[0] == i
	}) {
		t.Errorf("real peers together: %v", groups)
	}
}

// Real peers can compare what only a program of the user computes, but a simulation cannot.
func TestForecastsOfAnUnknownSize(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("run.yaml", "name: own\nmodel: {name: external}\n")
	for mode, want := range map[string]string{"lab": "", "sim": "your own script trains an external model"} {
		file, err := configs.LoadComparison(write(mode+".yaml", "name: own\nbase: run.yaml\nmode: "+mode+
			"\nnetworks: [{name: LAN}]\nalgorithms: [{label: A, name: dpsgd}]\nseeds: [1]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := Predict(file, nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", mode, err, want)
			}
			continue
		}
		var text strings.Builder
		if err != nil || len(all) != 1 || !all[0].Unknown || WriteForecasts(&text, all) != nil ||
			strings.Count(text.String(), "?") != 4 {
			t.Errorf("%s: %+v, %v, printed\n%s", mode, all, err, text.String())
		}
	}
}

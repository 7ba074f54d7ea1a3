package configs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/topology"
)

func edgeList(ranks ...topology.Rank) (list [][2]topology.Rank) {
	for i := 0; i < len(ranks); i += 2 {
		list = append(list, [2]topology.Rank{ranks[i], ranks[i+1]})
	}
	return list
}

func TestPresetsLoadAndDescribeThemselves(t *testing.T) {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
		l, err := Load(Source{File: p.Name})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if l.Config.Name != p.Name {
			t.Errorf("%s: its name is %s", p.Name, l.Config.Name)
		}
		if l.Config.Topology.Slack != Computed || l.Config.Algorithm.Gamma != Computed {
			t.Errorf("%s: its slack or gamma is not auto, so that --set algorithm.bits diverges", p.Name)
		}
		if !strings.HasPrefix(string(p.Text), "# ") || len(p.About) < 20 || len(p.About) > 120 {
			t.Errorf("%s: the first line does not name the situation: %q", p.Name, p.About)
		}
		for _, o := range l.Origins() {
			if strings.HasPrefix(o.Origin, p.Name) && o.Value == defaultOf(o.Key) && o.Key != "topology.kind" &&
				o.Key != "topology.size" {
				t.Errorf("%s: states %s, which is the default", p.Name, o.Key)
			}
		}
	}
	for _, want := range []string{"ring8", "ring8-fashion", "torus4x4-fashion", "ring8-cifar", "lan-ring", "one-label10"} {
		if !strings.Contains(strings.Join(names, " ")+" ", want+" ") {
			t.Errorf("no preset %s in %v", want, names)
		}
	}
}

func defaultOf(key string) string {
	for _, k := range Reference() {
		if k.Name == key {
			return k.Default
		}
	}
	return ""
}

func TestOriginsRoundTrip(t *testing.T) {
	l, err := Load(Source{File: "torus4x4-fashion", Set: []string{"limit.links.0-1.rate=1mbit"}})
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	origin := map[string]string{}
	for _, o := range l.Origins() {
		set = append(set, o.Key+"="+o.Value)
		origin[o.Key] = o.Origin
	}
	again, err := Load(Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Config, again.Config); diff != "" {
		t.Errorf("the listed values as --set (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"topology.size": "derived", "topology.rows": "torus4x4-fashion (embedded preset):3:25", "limit.links": "--set",
		"seed": "default",
	} {
		if origin[key] != want {
			t.Errorf("origin of %s: want %s, got %s", key, want, origin[key])
		}
	}
}

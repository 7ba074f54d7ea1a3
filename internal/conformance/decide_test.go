package conformance

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/gossip/view"
)

// A viewSpec is the form of a record in vector files.
type viewSpec struct {
	View     int            `json:"view"`
	First    int            `json:"first"`
	Members  []view.ID      `json:"members"`
	Sponsors []view.Sponsor `json:"sponsors"`
	Dead     []view.Death   `json:"dead"`
	Left     []view.ID      `json:"left"`
	Lost     []view.Loss    `json:"lost"`
}

// record returns the record of the product.
func (s viewSpec) record() view.Record {
	return view.Record{View: s.View, First: s.First, Members: members(s.Members), Sponsors: s.Sponsors, Dead: s.Dead,
		Left: s.Left, Lost: s.Lost}
}

func members(ids []view.ID) (all []view.Member) {
	for _, id := range ids {
		all = append(all, view.Member{ID: id})
	}
	return all
}

// newLog returns the log of the records of a file.
func newLog(t *testing.T, on topologySpec, specs []viewSpec) *view.Log {
	t.Helper()
	log, err := view.New(on.spec(), specs[0].record())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs[1:] {
		if err := log.Add(s.record()); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func TestConformanceDecide(t *testing.T) {
	var file struct {
		Cases []struct {
			Case     string
			Topology topologySpec
			Views    []viewSpec
			Close    struct{ Fence, Joins, Leaves []view.ID }
			Leavers  []view.ID
			Reports  []view.Report
			Record   viewSpec
		}
	}
	Load3(t, "decide.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("decide.json: no cases")
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%d %s", i, c.Case), func(t *testing.T) {
			log := newLog(t, c.Topology, c.Views)
			got, err := view.Decide(log, view.Close{
				Fence: c.Close.Fence, Joins: members(c.Close.Joins), Leaves: c.Close.Leaves,
			}, c.Reports)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.Record.record(), got, noneIsEmpty); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if err := log.Add(got); err != nil {
				t.Errorf("the log refuses the record: %v", err)
			}
		})
	}
}

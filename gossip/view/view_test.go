package view

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gossiptrainer/topology"
)

func people(ids ...ID) (all []Member) {
	for _, id := range ids {
		all = append(all, Member{ID: id})
	}
	return all
}

func ring() topology.Spec { return topology.Spec{Kind: topology.Ring, Slack: 1} }

func newLog(t *testing.T, base topology.Spec, records ...Record) *Log {
	t.Helper()
	l, err := New(base, records[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records[1:] {
		r.View = i + 1
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// history is a log with each change: 5 joins, 3 dies, 1 leaves.
func history(t *testing.T, base topology.Spec) *Log {
	t.Helper()
	return newLog(t, base, Record{Members: people(0, 1, 2, 3, 4)},
		Record{First: 4, Members: people(0, 1, 2, 3, 4, 5), Sponsors: []Sponsor{{5, 2}}},
		Record{First: 9, Members: people(0, 1, 2, 4, 5), Dead: []Death{{3, 6}}, Lost: []Loss{{2, 3, 6}}},
		Record{First: 12, Members: people(0, 2, 4, 5), Left: []ID{1}})
}

func TestAForceIsTheLastViewThatHasBegun(t *testing.T) {
	l := history(t, ring())
	for x, want := range map[int]int{0: 0, 3: 0, 4: 1, 8: 1, 9: 2, 11: 2, 12: 3, 99: 3} {
		if got := l.Force(x); got != want {
			t.Errorf("force(%d) = %d, want %d", x, got, want)
		}
	}
	for x, want := range map[int]bool{6: false, 7: true, 8: true, 9: false} {
		if l.Off(3, x) != want {
			t.Errorf("off(3, %d) is %v", x, !want)
		}
	}
}

func TestRowsLeaveOutTheDead(t *testing.T) {
	l := history(t, ring())
	row := l.Row(4, 7) // of 3 and 5, without 3
	if len(row.In) != 1 || row.In[0].Peer != 5 || math.Abs(row.Self-2./3) > 1e-12 {
		t.Errorf("row %+v", row)
	}
	if row := l.Row(2, 6); len(row.In) != 1 || row.In[0].Peer != 1 { // the message of 3 is lost
		t.Errorf("row %+v", row)
	}
	if row := l.Row(3, 9); len(row.In)+len(row.Out) > 0 || row.Self != 1 {
		t.Errorf("a worker that is no member has the row %+v", row)
	}
	if row := l.Row(5, 12); !slices.Equal(row.Out, []ID{0, 4}) {
		t.Errorf("row %+v, want the ring 0 2 4 5", row)
	}
}

func TestRecordsThatDoNotFitAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *Record)
		want   string
	}{
		"number":     {func(r *Record) { r.View = 5 }, "view 5: view: number 5: the next view is 4"},
		"earlier":    {func(r *Record) { r.First = 11 }, "first: 11: must be at least 12"},
		"nobody":     {func(r *Record) { r.Members = nil }, "members: 0: must be 1 to 4096"},
		"order":      {func(r *Record) { r.Members = people(2, 0) }, "members: id 0: ids ascend from 0 on"},
		"missing":    {func(r *Record) { r.Members = people(0, 2, 4) }, "members: id 5 is missing"},
		"stranger":   {func(r *Record) { r.Members = people(0, 2, 4, 5, 6) }, "members: id 6: neither a member"},
		"left":       {func(r *Record) { r.Left = []ID{1} }, "left: id 1: no member of view 3"},
		"dead":       {func(r *Record) { r.Dead = []Death{{7, 1}} }, "dead: id 7: neither a member"},
		"dead again": {func(r *Record) { r.Dead = []Death{{3, 1}} }, "dead: id 3: neither a member"},
		"last":       {func(r *Record) { r.Dead = []Death{{5, 2}} }, "dead: id 5: last 2: must be 3 to 11"},
		"late":       {func(r *Record) { r.Dead = []Death{{5, 12}} }, "dead: id 5: last 12: must be 3 to 11"},
		"old id":     {func(r *Record) { r.Sponsors = []Sponsor{{3, 0}} }, "sponsors: id 3: was given before"},
		"small id":   {func(r *Record) { r.Sponsors = []Sponsor{{-1, 0}} }, "must be above all ids given before"},
		"dead sponsor": {func(r *Record) { r.Sponsors = []Sponsor{{6, 3}} },
			"sponsors: id 6: sponsor 3: not a living member"},
		"lost": {func(r *Record) { r.Lost = []Loss{{0, 3, 7}} },
			"lost: exchange 7 from 3 to 0: no such message counts"},
		"lost twice": {func(r *Record) { r.Lost = []Loss{{2, 3, 6}} }, "lost: exchange 6 from 3 to 2: no such message"},
		"long":       {func(r *Record) { r.Why = strings.Repeat("x", 5000) }, "why: 5000 bytes: at most 4096"},
		"name": {func(r *Record) { r.Members[0].Name = strings.Repeat("x", 129) },
			"name, key or address is too long"},
		"samples": {func(r *Record) { r.Members[0].Samples = -1 }, "samples -1: must be at least 0"},
	} {
		l := history(t, ring())
		r := Record{View: 4, First: 12, Members: people(0, 2, 4, 5)}
		test.change(&r)
		if err := l.Add(r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
		if l.Len() != 4 {
			t.Errorf("%s: the log has changed", name)
		}
	}
	for _, r := range []Record{
		{First: 1, Members: people(0)}, {Members: people(0, 2)}, {Members: people(0), Left: []ID{1}},
	} {
		if _, err := New(ring(), r); err == nil {
			t.Errorf("view 0 may be %+v", r)
		}
	}
}

func TestKindsWithoutAGraphForEveryNumberAreRefused(t *testing.T) {
	for _, kind := range []topology.Kind{topology.Hypercube, topology.OnePeerHypercube, topology.EdgeList} {
		_, err := New(topology.Spec{Kind: kind, Slack: 1, Edges: [][2]ID{{0, 1}}}, Record{Members: people(0, 1)})
		if err == nil || !strings.Contains(err.Error(), "needs a graph for every number of members") {
			t.Errorf("%s: error %v", kind, err)
		}
	}
	l := newLog(t, topology.Spec{Kind: topology.Torus, Slack: 1}, Record{Members: people(0, 1, 2, 3, 4, 5)},
		Record{First: 2, Members: people(0, 1, 2, 3, 4), Left: []ID{5}})
	if a, b := l.At(0).Topology.Shape, l.At(1).Topology.Shape; a != "2x3" || b != "1x5" {
		t.Errorf("shapes %s and %s, want 2x3 and 1x5", a, b)
	}
}

// The three parts of view.Moved equal the movement by the rows themselves, for random messages.
func TestMovedEqualsTheRows(t *testing.T) {
	for _, kind := range []topology.Kind{topology.Ring, topology.Torus, topology.OnePeerExponential, topology.RandomShift,
		topology.StaticExponential, topology.RandomMatching} {
		base := topology.Spec{Kind: kind, Slack: 0.8, Seed: 3}
		l := newLog(t, base, Record{Members: people(0, 1, 2, 3, 4, 5)})
		last := 4
		lost := Loss{-1, 3, 0}
		for x := 0; x <= last; x++ { // some message of 3 is lost
			for _, id := range []ID{0, 1, 2, 4, 5} {
				if l.takes(id, 3, x) {
					lost = Loss{id, 3, x}
				}
			}
		}
		r := Record{View: 1, First: 9, Members: people(0, 2, 4, 5), Dead: []Death{{1, 5}, {3, last}}, Lost: []Loss{lost}}
		if err := l.Add(r); err != nil {
			t.Fatal(kind, err)
		}
		draw := rand.New(rand.NewPCG(1, 2))
		for x := range 11 {
			m := map[ID][]float32{}
			for id := range ID(6) {
				m[id] = []float32{draw.Float32(), 8 * draw.Float32()}
			}
			want := make([]float64, 2)
			for _, i := range l.At(l.Force(x)).IDs() {
				if end, dead := l.Dead(i); l.Off(i, x) || dead && end == x {
					continue
				}
				for _, e := range l.Row(i, x).In {
					for c := range want {
						want[c] += e.Weight * (float64(m[e.Peer][c]) - float64(m[i][c]))
					}
				}
			}
			got := Moved(l, x, func(id ID) []float32 { return m[id] })
			for c := range want {
				if math.Abs(got[c]-want[c]) > 1e-9 {
					t.Errorf("%s exchange %d: the sum moves by %v, the rows by %v", kind, x, got, want)
					break
				}
			}
		}
	}
}

func TestALogComesBackFromItsFile(t *testing.T) {
	l := history(t, ring())
	l.records[1].Members[0] = Member{ID: 0, Name: "attic", Key: "k", Address: "10.0.0.1:4", Samples: 9}
	l.records[1].Why, l.records[1].Values = "machine loft joins", []Value{{4, 0.5, 0.25, 8}}
	for v := range l.records {
		l.records[v].Lineage = 1 << 63
	}
	l.records[0].Parent = &Parent{Lineage: 1<<64 - 1, View: 9}
	text := file(t, l)
	again, err := Read(bytes.NewReader(text), ring())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(l.records, again.records, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if back := file(t, again); !bytes.Equal(back, text) {
		t.Errorf("%s\nbecame\n%s", text, back)
	}
}

func file(t testing.TB, l *Log) (text []byte) {
	for v := range l.Len() {
		var err error
		if text, err = Append(text, *l.At(v)); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

func TestFilesThatAreNoLogAreRefused(t *testing.T) {
	const founders = `{"view":0,"first":0,"members":[{"id":0},{"id":1}]}` + "\n"
	for text, want := range map[string]string{
		"":                                "no views: the first line must be view 0",
		"x":                               "line 1: no record",
		founders + "{}":                   "line 2: view 0: view: number 0: the next view is 1",
		founders[:len(founders)-2]:        "line 1: no record",
		`{"rank":1}`:                      `unknown field "rank"`,
		founders[:len(founders)-1] + "{}": "line 1: more than one record in a line",
		`{"view":0,"first":0,"members":[{"id":0}],"theta":-1}`:                        "theta, slack: must be at least 0",
		`{"view":0,"first":0,"members":[{"id":0}],"values":[{"first":-1,"scale":1}]}`: "values: first -1, scale 1 and 0, bits 0",
		`{"view":0,"first":0,"members":[{"id":0}],"topology":{"name":"star"}}`:        "take the run file of the same run",
		strings.Repeat(" ", MaxLine+2):                                                "line 1: bufio.Scanner: token",
	} {
		if _, err := Read(strings.NewReader(text), ring()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want one with %q", text, err, want)
		}
	}
}

// All records of a log have one lineage, and only the founders have a parent.
func TestALogHasOneLineage(t *testing.T) {
	const founders = `{"view":0,"first":0,"members":[{"id":0},{"id":1}],"lineage":"7","parent":{"lineage":"9","view":4}}`
	const next = `{"view":1,"first":1,"members":[{"id":0}],"left":[1],`
	for text, want := range map[string]string{
		strings.Replace(founders, "4", "-1", 1):               "parent: view -1: out of range",
		founders + "\n" + next + `"lineage":"3"}`:             "lineage: 3: must be that of view 0, 7",
		founders + "\n" + next + `"lineage":"7","parent":{}}`: "parent: only view 0 has one",
	} {
		if _, err := Read(strings.NewReader(text), ring()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	for _, text := range []string{"7", "7/", "/4", "7/-1", "07/4", "7/4/1", "18446744073709551616/0"} {
		if p, err := ParseParent(text); err == nil {
			t.Errorf("%q is read as %v", text, p)
		}
	}
	for _, want := range []Parent{{}, {1<<64 - 1, 4}} {
		if p, err := ParseParent(want.String()); err != nil || *p != want {
			t.Errorf("%v is read as %v, error %v", want, p, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	l, err := New(ring(), Record{Members: people(0, 1, 2)})
	if err == nil {
		err = l.Add(Record{View: 1, First: 3, Members: people(0, 1, 3), Dead: []Death{{2, 1}}, Sponsors: []Sponsor{{3, 0}}})
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file(f, l))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Read(bytes.NewReader(text), ring())
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(file(t, l)), ring())
		if err != nil || again.Len() != l.Len() {
			t.Fatalf("a log that was read does not come back: %v", err)
		}
		for x := range 8 {
			for id := range ID(8) {
				if row := l.Row(id, x); row.Self < -1e-9 || row.Self > 1+1e-9 {
					t.Errorf("row %+v", row)
				}
			}
		}
	})
}

func TestNobodyDecidesWithoutAState(t *testing.T) {
	l := newLog(t, ring(), Record{Members: people(0, 1)},
		Record{First: 2, Members: people(0, 1, 2), Sponsors: []Sponsor{{2, 0}}})
	_, err := Decide(l, Close{Fence: []ID{0, 1}}, []Report{{ID: 2, Promise: 2, Next: 2}})
	if !errors.Is(err, ErrNoState) {
		t.Errorf("error %v, want ErrNoState", err)
	}
}

// A leaver lacks two exchanges of view 0 when the members of view 1 are far ahead: about exchanges 9 and 10, which no
// report has, the record says nothing.
func TestARecordDoesNotChangeWhatALaterViewHasChosen(t *testing.T) {
	l := newLog(t, ring(), Record{Members: people(0, 1, 2, 3)},
		Record{First: 9, Members: people(0, 1, 2), Left: []ID{3}, Values: []Value{{First: 9, Scale: 0.25}}})
	ahead := []Value{{First: 11, Scale: 0.25}, {First: 12, Scale: 0.5}}
	r, err := Decide(l, Close{Joins: people(4)}, []Report{
		{ID: 0, Promise: 14, Next: 14, State: true, Values: ahead},
		{ID: 1, Promise: 14, Next: 13, State: true, Values: ahead},
		{ID: 2, Promise: 14, Next: 14, State: true, Values: ahead},
		{ID: 3, Promise: 9, Next: 7, State: true, Values: []Value{{First: 6, Scale: 0.125}}},
	})
	want := []Value{{First: 7, Scale: 0.125}, {First: 9}, {First: 11, Scale: 0.25}, {First: 12, Scale: 0.5},
		{First: 14, Scale: 1}}
	if err != nil || !slices.Equal(r.Values, want) {
		t.Fatalf("values %v, error %v, want %v", r.Values, err, want)
	}
	if err := l.Add(r); err != nil {
		t.Fatal(err)
	}
	for x, want := range map[int]float64{7: 0.125, 8: 0.125, 9: 0, 10: 0, 11: 0.25, 13: 0.5} {
		if v, ok := l.Value(l.Force(x), x); v.Scale != want || ok != (want > 0) {
			t.Errorf("exchange %d: scale %v, %v, want %v", x, v.Scale, ok, want)
		}
	}
}

func TestWatchedAreMembersAndLeavers(t *testing.T) {
	l := history(t, ring())
	if got := l.Watched(func(ID) bool { return false }); !slices.Equal(got, []ID{0, 1, 2, 4, 5}) {
		t.Errorf("watched %v", got)
	}
	if got := l.Watched(func(id ID) bool { return id == 1 }); !slices.Equal(got, []ID{0, 2, 4, 5}) {
		t.Errorf("watched %v", got)
	}
}

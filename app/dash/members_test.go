package dash

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/status"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// open4 is a run of four founders that others may join.
var open4 = strings.Replace(ring4, "algorithm:", "membership: {mode: view, grace: 2s}\nalgorithm:", 1)

// The machines of the views.
var machines = map[int]string{0: "attic", 1: "shelf", 2: "desk", 3: "loft", 4: "barn", 5: "shed"}

// viewOf is a view that a member tells.
func viewOf(teller, number, first int, why string, dead []int, members ...int) record.Event {
	v := record.Membership{View: number, First: first, Members: members, Dead: dead, Why: why}
	for _, id := range members {
		v.Names = append(v.Names, machines[id])
	}
	return record.Event{Status: &record.Status{Rank: teller, State: record.Training, Here: len(members), View: &v}}
}

func stepsOf(round int, members ...int) (all []record.Event) {
	for _, id := range members {
		all = append(all, stepOf(id, round))
	}
	return all
}

// comeAndGo writes a lab into a folder: member 4 joins, member 1 leaves, and member 2 dies while member 5 joins.
func comeAndGo(f *folder) {
	f.write(runfolder.RunFile, open4)
	for id := range 4 {
		f.add(viewOf(id, 0, 0, "", nil, 0, 1, 2, 3))
	}
	f.add(stepsOf(10, 0, 1, 2, 3)...)
	f.add(statusOf(4, record.Joining, "waits for its first view"))
	for id := range 5 {
		f.add(viewOf(id, 1, 15, "machine barn joins", nil, 0, 1, 2, 3, 4))
	}
	f.add(stepsOf(20, 0, 1, 2, 3, 4)...)
	f.add(viewOf(0, 2, 25, "machine shelf left", nil, 0, 2, 3, 4))
	f.add(statusOf(1, record.Finished, "left"))
	f.add(stepsOf(30, 0, 2, 3, 4)...)
	f.add(viewOf(0, 3, 33, "machine desk was silent for 2s; machine shed joins", []int{2}, 0, 3, 4, 5))
	f.add(viewOf(5, 3, 33, "machine desk was silent for 2s; machine shed joins", []int{2}, 0, 3, 4, 5))
	f.add(stepsOf(40, 0, 3, 4, 5)...)
}

// The page of a run follows its views: members, graph, reason, curve and the states of those that are gone.
func TestThePageFollowsTheViews(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	comeAndGo(f)
	track := read(t, f, noProcess)
	v, _ := track.view("")
	m := v.Members
	if m.Now.View != 3 || m.Now.Why != "machine desk was silent for 2s; machine shed joins" || m.Graph != "ring of 4" {
		t.Errorf("view %d: %q, graph %q", m.Now.View, m.Now.Why, m.Graph)
	}
	if !slices.Equal(m.Joined, []int{5}) || !slices.Equal(m.Left, []int{2}) || len(m.Past) != 4 {
		t.Errorf("joined %v, left %v, %d views", m.Joined, m.Left, len(m.Past))
	}
	var edges [][2]int
	for _, e := range v.Edges {
		edges = append(edges, [2]int{e.A, e.B})
	}
	if want := [][2]int{{0, 3}, {0, 5}, {3, 4}, {4, 5}}; !slices.Equal(edges, want) {
		t.Errorf("edges %v, want %v", edges, want)
	}
	states := map[int]record.State{0: record.Training, 1: record.Finished, 2: record.Lost, 5: record.Training}
	for id, want := range states {
		if p := v.Peers[id]; p.State != want || m.Names[id] != machines[id] {
			t.Errorf("member %d is %s at %q, want %s", id, p.State, m.Names[id], want)
		}
	}
	if c := v.Curve; c.Points != 4 || !slices.Equal(c.Round, []float64{10, 20, 30, 40}) || v.Progress.Least != 40 {
		t.Errorf("a curve over rounds %v, the last member is at round %d", c.Round, v.Progress.Least)
	}
	if got, want := float64(v.Curve.Loss[3]), 2./40+(0+3+4+5)/8./4; got != want {
		t.Errorf("the last mean loss is %v, that of the members %v", got, want)
	}
	var told []string
	for _, e := range v.Events {
		if e.Kind == viewEvent {
			told = append(told, string(e.Severity)+" "+e.Text)
		}
	}
	want := []string{"note view 0: the founders: 4 members", "note view 1: machine barn joins: 5 members",
		"note view 2: machine shelf left: 4 members",
		"warning view 3: machine desk was silent for 2s; machine shed joins: 4 members"}
	if !slices.Equal(told, want) || explain.Warning != "warning" {
		t.Errorf("events %q", told)
	}
}

// A page that has a view gets the next one with all its edges, and nothing of the view while it stays.
func TestAPageGetsANewViewWhole(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	comeAndGo(f)
	track := read(t, f, noProcess)
	_, stamp := track.view("")
	track.tally.see(stepOf(0, 50))
	track.tell()
	news, stamp := track.view(stamp)
	if news.Members != nil || len(news.Edges) == 4 {
		t.Errorf("a step tells a view %+v and %d edges", news.Members, len(news.Edges))
	}
	track.tally.see(viewOf(0, 4, 60, "machine loft left", nil, 0, 4, 5))
	track.tally.see(viewOf(4, 4, 60, "machine loft left", nil, 0, 4, 5))
	track.tell()
	news, _ = track.view(stamp)
	if news.Members == nil || news.Members.Now.View != 4 || len(news.Edges) != 3 || len(news.Members.Past) != 5 {
		t.Errorf("a view tells %+v and %d edges", news.Members, len(news.Edges))
	}
}

// On a LAN the record has the steps of its own member, and the page shows the others by the views.
func TestThePageOfOneMember(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	f.write(runfolder.RunFile, open4)
	f.add(viewOf(1, 0, 0, "", nil, 0, 1, 2, 3), stepOf(1, 10), stepOf(1, 20))
	f.add(viewOf(1, 1, 25, "machine desk was silent for 2s", []int{2}, 0, 1, 3), stepOf(1, 30))
	defer f.lock()()
	here := status.Answer{Run: "tulip", Folder: f.dir, Status: node.Status{Rank: 1, Round: 31, State: record.Training,
		Links: []node.LinkStatus{{Neighbour: 0, Up: true}, {Neighbour: 3}}}}
	track := read(t, f, noProcess)
	track.tally.look([]status.Answer{here}, time.Now())
	track.tell()
	v, _ := track.view("")
	if v.Curve.Points != 3 || v.Progress.Least != 31 || v.Progress.Most != 31 {
		t.Errorf("%d points, rounds %d to %d", v.Curve.Points, v.Progress.Least, v.Progress.Most)
	}
	states := map[[2]int]string{}
	for _, e := range v.Edges {
		states[[2]int{e.A, e.B}] = e.State
	}
	if len(states) != 3 || states[[2]int{1, 3}] != edgeDown || states[[2]int{0, 1}] != edgeUp {
		t.Errorf("edges %v", states)
	}
	if p := v.Peers[3]; p.State != record.Training || v.Members.Names[3] != "loft" {
		t.Errorf("member 3: %+v", p)
	}
}

// The processes of a lab with members answer for folders in that of the run.
func TestMembersOfALabAnswer(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	comeAndGo(f)
	answers := []status.Answer{{Folder: runfolder.MemberPath(f.dir, 3)}, {Folder: filepath.Join(f.dir, "other", "3")}}
	all := of(answers, f.dir)
	if len(all) != 1 {
		t.Errorf("%d answers of the run", len(all))
	}
}

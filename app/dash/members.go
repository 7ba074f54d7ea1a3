package dash

import (
	"fmt"
	"maps"
	"slices"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/status"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// mostViews bounds the views that the page lists.
const mostViews = 100

// A shownView is the newest view of a run whose members come and go, as the page reads it.
type shownView struct {
	Now   record.Membership `json:"now"`
	Graph string            `json:"graph"`
	aboutGraph
	Joined []int          `json:"joined"` // ids of members that the view before did not have
	Left   []int          `json:"left"`   // ids of members of the view before
	Past   []pastView     `json:"past"`   // the newest views, this one last
	Names  map[int]string `json:"names"`  // machines of all members that a view had
}

// A pastView is a line of the list of views.
type pastView struct {
	View    int    `json:"view"`
	First   int    `json:"first"`
	Members int    `json:"members"`
	Why     string `json:"why"`
}

// Memberships follow the views of a run.
type memberships struct {
	shownView
	changed int64 // version of the last view; 0: there was none
}

// has reports whether a worker takes part. Before the first view all do.
func (m *memberships) has(id int) bool {
	return m.changed == 0 || slices.Contains(m.Now.Members, id)
}

// enter takes a view, which every member tells. Its members, edges and reason are those of the page from now on.
func (t *tally) enter(v record.Membership) {
	m := &t.members
	if m.changed > 0 && v.View <= m.Now.View {
		return
	}
	m.Joined, m.Left = []int{}, []int{}
	for _, id := range v.Members {
		if m.changed > 0 && !m.has(id) {
			m.Joined = append(m.Joined, id)
		}
	}
	for _, id := range m.Now.Members {
		if !slices.Contains(v.Members, id) {
			m.Left = append(m.Left, id)
		}
	}
	m.Now, m.changed = v, t.version
	m.Past = append(slices.Clone(m.Past), pastView{v.View, v.First, len(v.Members), v.Why})
	m.Past = m.Past[max(0, len(m.Past)-mostViews):]
	m.Names = maps.Clone(m.Names)
	for i, name := range v.Names {
		if m.Names == nil {
			m.Names = map[int]string{}
		}
		m.Names[v.Members[i]] = name
	}
	for _, id := range v.Members {
		if w := t.worker(id); w != nil && w.State == "" { // a member of another machine tells this record nothing
			w.State, w.changed = record.Training, t.version
		}
	}
	for _, id := range m.Left {
		if w := t.worker(id); w != nil {
			w.leaves(v, slices.Contains(v.Dead, id))
			w.changed = t.version
		}
	}
	t.redraw()
	t.recount()
	t.note(eventOfView(v, t.plan.local))
}

// leaves ends a member. One that tells its own end has done so.
func (w *worker) leaves(v record.Membership, dead bool) {
	switch {
	case dead:
		w.See(record.Event{Status: &record.Status{State: record.Lost, Detail: v.Why}})
	case w.State != record.Finished:
		w.See(record.Event{Status: &record.Status{State: record.Finished, Detail: "left"}})
	}
}

// redraw replaces the edges by those of the graph of the view. An edge that stays keeps its bytes and its rate.
func (t *tally) redraw() {
	ids, before := t.members.Now.Members, t.edges
	t.edges, t.shown = map[[2]int]*edge{}, map[[2]int]shownEdge{}
	t.members.aboutGraph, t.members.Graph = aboutGraph{}, ""
	graph, err := view.Graph(t.plan.base, len(ids))
	if err != nil { // the run file is one that this version cannot read
		return
	}
	drawn := drawingOf(graph)
	t.members.aboutGraph, t.members.Graph = aboutGraph{drawn.layout, drawn.phases}, describe.Graph(graph.Spec())
	for _, phase := range drawn.phases {
		for i, ends := range phase {
			phase[i] = [2]int{ids[ends[0]], ids[ends[1]]}
		}
	}
	for _, e := range drawn.edges {
		ends := [2]int{ids[e.a], ids[e.b]}
		if t.worker(ends[1]) == nil {
			continue
		}
		if t.edges[ends] = before[ends]; t.edges[ends] == nil {
			t.edges[ends] = newEdge(ends[0], ends[1], e.weight)
		}
		t.edges[ends].weight = e.weight
	}
}

// recount lets the curve be that of the members that this record hears. On a LAN it hears its own one.
func (t *tally) recount() {
	var heard []int
	for _, id := range t.members.Now.Members {
		if w := t.worker(id); w != nil && w.heard {
			heard = append(heard, id)
		}
	}
	t.beat.Enter(heard)
}

// hears takes what a member says of its links: each leads to another member, whether the graph has the edge or not.
func (t *tally) hears(rank int, a *status.Answer) {
	for _, link := range a.Links {
		if e := t.edges[[2]int{min(rank, link.Neighbour), max(rank, link.Neighbour)}]; e != nil {
			end := &e.ends[side(rank, link.Neighbour)]
			end.hears, end.silent = link.Up, !link.Up
		}
	}
}

// membersSince returns the view if it is new after a version.
func (t *tally) membersSince(version int64) *shownView {
	if t.members.changed == 0 || version > 0 && t.members.changed <= version {
		return nil
	}
	now := t.members.shownView // the tally replaces its lists, and changes none that was shown
	return &now
}

// eventOfView describes a view, whose exchanges have some rounds each.
func eventOfView(v record.Membership, local int) Event {
	why := v.Why
	if v.View == 0 {
		why = "the founders"
	}
	e := Event{Round: v.First * max(1, local), Kind: viewEvent, Severity: explain.Note,
		Text: fmt.Sprintf("view %d: %s: %s", v.View, why, human.Count(len(v.Members), "member"))}
	if len(v.Dead) > 0 {
		e.Severity = explain.Warning
	}
	return e
}

package dash

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
)

// A View is a run, or what changed of it, as the page reads it.
type View struct {
	ID        string              `json:"id"`
	Reset     bool                `json:"reset"` // whole: it replaces what the page has
	Version   int64               `json:"version"`
	Reading   figure              `json:"reading"` // share of the record that is read
	Failed    string              `json:"failed,omitempty"`
	About     *About              `json:"about,omitempty"`
	Members   *shownView          `json:"members,omitempty"` // missing: unchanged, or workers stay
	Progress  *Progress           `json:"progress"`
	Curve     *Curve              `json:"curve,omitempty"`
	Scores    *Scores             `json:"scores,omitempty"`
	Peers     []Peer              `json:"peers"`
	Edges     []Edge              `json:"edges"`
	Events    []Event             `json:"events"`
	Sentences *[]explain.Sentence `json:"sentences,omitempty"` // missing: unchanged
}

// About describes a run.
type About struct {
	Name     string          `json:"name"`
	Mode     string          `json:"mode"` // run, lab, sim; "": not known before the summary
	State    runfolder.State `json:"state"`
	Describe string          `json:"describe"`
	Method   string          `json:"method"`
	Graph    string          `json:"graph"`
	Workers  int             `json:"workers"`
	Rounds   int             `json:"rounds_of"`
	Began    time.Time       `json:"began"`
	Every    int             `json:"every"` // rounds between records

	aboutGraph
	Virtual bool            `json:"virtual"` // time is virtual
	Ended   string          `json:"ended"`
	Summary *record.Summary `json:"summary"`
}

// aboutGraph says how to draw the graph.
type aboutGraph struct {
	Layout Layout     `json:"layout"`
	Phases [][][2]int `json:"phases,omitempty"` // edges of each exchange, over and over; missing: they do not change
}

// A Progress is where a run stands.
type Progress struct {
	Round    figure `json:"round"` // mean over the workers
	Least    int    `json:"least"`
	Most     int    `json:"most"`
	Rounds   int    `json:"rounds_of"`
	Time     figure `json:"time_s"`
	Pace     figure `json:"rounds_per_s"`
	Left     figure `json:"left_s"`
	Loss     figure `json:"loss"`
	Gap      figure `json:"gap"`
	Theta    figure `json:"theta"`
	Sent     figure `json:"sent_bytes"`
	Received figure `json:"received_bytes"`
	Accuracy figure `json:"accuracy"`
}

// view returns what changed after the version of a stamp, all if this track has no such version, and the stamp of the
// answer. The view is nil if nothing changed.
func (t *track) view(since string) (v *View, stamp string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	latest := t.tally.version - 1
	var version int64
	if epoch, number, ok := strings.Cut(since, "-"); ok && epoch == t.epoch {
		version, _ = strconv.ParseInt(number, 10, 64)
	}
	stamp = fmt.Sprintf("%s-%d", t.epoch, latest)
	if version == latest && version > 0 {
		return nil, stamp
	}
	if version > latest {
		version = 0
	}
	l := t.tally
	v = &View{ID: t.id, Reset: version == 0, Version: latest, Reading: figureOf(t.read), Failed: t.failed,
		Progress: t.progress(), Curve: l.curve.since(version), Scores: l.scores.since(version),
		Peers: l.peersSince(version), Edges: l.edgesSince(version), Events: l.events.since(version),
		Members: l.membersSince(version)}
	if version == 0 || t.about > version {
		v.About = t.describe()
	}
	if version == 0 || l.saidAt > version {
		said := l.said // the tally replaces it, and changes none that was shown
		v.Sentences = &said
	}
	return v, stamp
}

// describe returns the description of the run.
func (t *track) describe() *About {
	p := t.tally.plan
	a := &About{Name: p.name, State: t.state, Describe: p.describe, Method: p.method, Graph: p.graph,
		Workers: len(t.tally.workers), Rounds: p.rounds, Began: p.began, Every: p.every, Summary: t.summary,
		aboutGraph: aboutGraph{p.layout, p.phases}}
	if s := t.summary; s != nil {
		a.Ended = s.Ended
	}
	if m := t.tally.members; m.changed > 0 {
		a.Workers = len(m.Now.Members)
	}
	a.Mode, a.Virtual = t.mode, t.mode == simulated
	return a
}

// progress sums up where the run stands.
func (t *track) progress() *Progress {
	l := t.tally
	p := &Progress{Round: unknown(), Rounds: l.plan.rounds, Time: unknown(), Pace: unknown(), Left: unknown(),
		Loss: unknown(), Gap: unknown(), Theta: unknown(), Sent: unknown(), Received: unknown(),
		Accuracy: figureOf(l.scores.last())}
	if s := t.summary; s != nil {
		p.Accuracy = maybe(s.Accuracy.Mean)
	}
	received, paced, heard := 0.0, 0.0, 0
	first := true
	for i, w := range l.workers {
		if l.members.changed > 0 && !(w.heard && l.members.has(i)) {
			continue
		}
		round := w.Last.Round
		if w.live.asked {
			round = max(round, w.live.answer.Round)
		}
		if p.Most = max(p.Most, round); first {
			p.Least, first = round, false
		}
		p.Least = min(p.Least, round)
		if w.Last.Round == 0 {
			continue
		}
		heard++
		received += float64(w.Last.Received.Wire)
		paced += w.pace
	}
	if l.now.moments == 0 {
		return p
	}
	n := l.now
	p.Round, p.Time, p.Loss, p.Gap = figureOf(n.round), figureOf(n.time), figureOf(n.meanLoss()), figureOf(n.gap)
	if n.theta > 0 {
		p.Theta = figureOf(n.theta)
	}
	p.Sent, p.Received = figureOf(math.Round(n.sent)), figureOf(math.Round(received/float64(heard)))
	p.Pace = figureOf(paced / float64(heard))
	if left := float64(l.plan.rounds) - n.round; t.state == runfolder.Running && paced > 0 && left >= 0 {
		p.Left = figureOf(left / float64(p.Pace))
	}
	return p
}

// worker returns the curve of one worker, nil if the run has no such worker.
func (t *track) worker(rank int) *Curve {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.tally.worker(rank)
	if w == nil {
		return nil
	}
	return w.own.since(0)
}

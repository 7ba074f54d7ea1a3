package dash

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// mostEvents bounds the events that are kept.
const mostEvents = 1000

// The kinds of events.
const (
	stateEvent = "state" // a worker does something else
	faultEvent = "fault" // a worker has died or is lost
	edgeEvent  = "edge"  // an edge is switched off or on
	scoreEvent = "score" // the mean model was tested
	finalEvent = "final" // a worker has its result
	viewEvent  = "view"  // a view begins, where members come and go
)

// An Event is a line for people about something that happened.
type Event struct {
	N        int64            `json:"n"` // from 1 on
	Round    int              `json:"round"`
	Time     figure           `json:"time_s"`
	Rank     *int             `json:"rank"` // null: of the run
	Kind     string           `json:"kind"`
	Severity explain.Severity `json:"severity"`
	Text     string           `json:"text"`

	changed int64
}

// events are the last ones.
type events struct {
	list []Event
	n    int64
}

// add appends an event at a place of the axes.
func (l *events) add(e Event, at point, version int64) {
	l.n++
	e.N, e.Round, e.Time, e.changed = l.n, max(e.Round, int(at.round)), figureOf(at.time), version
	l.list = append(l.list, e)
	if len(l.list) > 2*mostEvents {
		l.list = slices.Clone(l.list[mostEvents:])
	}
}

// since returns the events after a version, the oldest first.
func (l *events) since(version int64) []Event {
	from := len(l.list)
	for from > max(0, len(l.list)-mostEvents) && l.list[from-1].changed > version {
		from--
	}
	return slices.Clone(l.list[from:])
}

// eventOf describes a change of the state of worker w, and reports whether it is worth a line: a state that came before
// with the same detail is not.
func eventOf(w *worker, s record.Status) (Event, bool) {
	e := Event{Rank: &s.Rank, Kind: stateEvent, Severity: explain.Note}
	who := fmt.Sprintf("worker %d ", s.Rank)
	detail := ""
	if s.Detail != "" {
		detail = ": " + s.Detail
	}
	switch s.State {
	case record.Returning:
		e.Kind, e.Severity, e.Text = faultEvent, explain.Problem, who+"has died and starts again"+detail
	case record.Lost:
		e.Kind, e.Severity, e.Text = faultEvent, explain.Problem, who+"is lost, and the run goes on without it"+detail
	case record.Failed:
		e.Kind, e.Severity, e.Text = faultEvent, explain.Problem, who+"has failed"+detail
	case record.Waiting:
		if len(s.Missing) > 0 {
			detail = " for " + human.Ranks("worker", s.Missing, s.More) + detail
		}
		e.Severity, e.Text = explain.Warning, who+"waits"+detail
	case record.Training:
		e.Text = who + "trains"
	case record.Testing:
		e.Text = who + "tests its model"
	case record.Finished:
		e.Text = who + "has done its rounds"
	default:
		e.Text = who + "is " + string(s.State) + detail
	}
	return e, w.State != s.State || w.Detail != s.Detail && s.State != record.Testing
}

// eventOfEdge describes a change of an edge under the policy reweight.
func eventOfEdge(e record.Edge) Event {
	out := Event{Rank: &e.Rank, Kind: edgeEvent, Severity: explain.Warning, Round: e.Exchange}
	switch {
	case e.Rank == e.Peer:
		out.Severity = explain.Note
		out.Text = fmt.Sprintf("worker %d has a new process, from exchange %d on", e.Rank, e.Exchange)
	case e.Weight == 0:
		out.Text = fmt.Sprintf("worker %d mixes without worker %d from exchange %d on", e.Rank, e.Peer, e.Exchange)
	default:
		out.Severity = explain.Note
		out.Text = fmt.Sprintf("worker %d mixes with worker %d from exchange %d on, with weight %.3g", e.Rank, e.Peer,
			e.Exchange, e.Weight)
	}
	return out
}

// moves reports whether a link goes over another way than before, as the end that has measured them tells.
func moves(before string, now *record.Path) bool {
	return before != "" && now != nil && now.Measuring > 0 && before != now.Way.Address
}

// eventOfPath says over which way a link goes now.
func eventOfPath(rank, round int, link record.Link) Event {
	return Event{Rank: &rank, Round: round, Kind: edgeEvent, Severity: explain.Note,
		Text: fmt.Sprintf("worker %d now reaches worker %d over %s", rank, link.Peer, explain.Path(link.Path))}
}

// results describes a loss and an accuracy, those that are numbers.
func results(loss, accuracy float64) string {
	var parts []string
	if record.Number(loss) != nil {
		parts = append(parts, fmt.Sprintf("loss %.4g", loss))
	}
	if !math.IsNaN(accuracy) {
		parts = append(parts, fmt.Sprintf("accuracy %.4g", accuracy))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ") + " on the test set"
}

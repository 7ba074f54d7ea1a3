package view

import (
	"fmt"
	"slices"

	"gossiptrainer/topology"
)

// A crew that was switched off goes on from the state of one member. For the log it is as if all others had died in one
// moment: a record leaves that member alone from an exchange on. So the log replays as any other.

// Resume returns the log of a run that goes on from the state of one member. The report is that of a change with all
// others in the fence: the member promises the exchange at whose beginning it has the state. The log has those records
// that the state rests on, and one more, in which the member is alone. All are of a new lineage, and view 0 names the
// old one as its parent. A mark that the run ends counts no more.
func Resume(l *Log, kept Report, lineage uint64) (*Log, error) {
	log, err := until(l, kept.ID, kept.Next, lineage)
	if err != nil {
		return nil, err
	}
	fence := slices.DeleteFunc(log.Last().IDs(), func(id ID) bool { return id == kept.ID })
	r, err := Decide(log, Close{Fence: fence}, []Report{kept})
	if err != nil {
		return nil, err
	}
	r.Why = fmt.Sprintf("member %d resumes the run", kept.ID)
	if name := r.Members[0].Name; name != "" {
		r.Why = fmt.Sprintf("machine %s resumes the run", name)
	}
	return log, log.Add(r)
}

// until returns the records on which the state of a member at the beginning of exchange x rests.
func until(l *Log, id ID, x int, lineage uint64) (*Log, error) {
	var log *Log
	for v := range l.records {
		r := l.records[v]
		_, member := r.Rank(id)
		if v > 0 && (r.First > x || !member && log.Known(id)) {
			break
		}
		r.End, r.Lineage = false, lineage
		var err error
		if v == 0 {
			r.Parent = &Parent{Lineage: l.records[0].Lineage, View: l.Last().View}
			log, err = New(l.base, r)
		} else {
			err = log.Add(r)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, member := log.Last().Rank(id); !member || x <= log.Begins(id) {
		return nil, fmt.Errorf("view: member %d has done no exchange before exchange %d of this log", id, x)
	}
	return log, nil
}

// Newest returns the largest id in the log.
func Newest(l *Log) ID { return l.ids[len(l.ids)-1] }

// Leavers returns the members that leave, or have left, in ascending order.
func Leavers(l *Log) (all []topology.Rank) {
	for _, id := range l.ids {
		if _, leaves := l.Ends(id); leaves {
			all = append(all, id)
		}
	}
	return all
}

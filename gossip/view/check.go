package view

import (
	"fmt"
	"slices"
)

// Limits of a record. They bound the memory that a file or a frame can ask for.
const (
	MaxMembers = 4096
	MaxLost    = 1 << 16
	maxName    = 128
	maxKey     = 1024
	maxAddress = 1024
	maxWhy     = 4096
	maxValues  = 1024
)

// check returns why a record does not fit the log.
func (l *Log) check(r *Record) error {
	switch {
	case r.View != len(l.records):
		return fmt.Errorf("view: number %d: the next view is %d", r.View, len(l.records))
	case len(r.Members) < 1 || len(r.Members) > MaxMembers:
		return fmt.Errorf("members: %d: must be 1 to %d", len(r.Members), MaxMembers)
	case len(r.Lost) > MaxLost || len(r.Values) > maxValues:
		return fmt.Errorf("lost, values: %d and %d: at most %d and %d", len(r.Lost), len(r.Values), MaxLost, maxValues)
	case len(r.Why) > maxWhy:
		return fmt.Errorf("why: %d bytes: at most %d", len(r.Why), maxWhy)
	case r.First < 0 || r.First >= forever:
		return fmt.Errorf("first: %d: out of range", r.First)
	}
	for i, m := range r.Members {
		if m.ID < 0 || m.ID >= forever || i > 0 && m.ID <= r.Members[i-1].ID {
			return fmt.Errorf("members: id %d: ids ascend from 0 on", m.ID)
		}
		if err := CheckMember(m); err != nil {
			return err
		}
	}
	if r.View == 0 {
		return checkFounders(r)
	}
	return l.checkChange(r)
}

// CheckMember returns why a record cannot have a member, whatever its id.
func CheckMember(m Member) error {
	switch {
	case len(m.Name) > maxName || len(m.Key) > maxKey || len(m.Address) > maxAddress:
		return fmt.Errorf("members: id %d: name, key or address is too long: at most %d, %d and %d bytes", m.ID,
			maxName, maxKey, maxAddress)
	case m.Samples < 0:
		return fmt.Errorf("members: id %d: samples %d: must be at least 0", m.ID, m.Samples)
	}
	return nil
}

// checkFounders returns why a record is not view 0.
func checkFounders(r *Record) error {
	switch {
	case r.End:
		return fmt.Errorf("end: true: the founders cannot end the run")
	case r.First != 0:
		return fmt.Errorf("first: %d: the founders begin with exchange 0", r.First)
	case len(r.Sponsors)+len(r.Left)+len(r.Dead)+len(r.Lost) > 0:
		return fmt.Errorf("sponsors, left, dead, lost: must be empty: nothing was before view 0")
	case int(r.Members[len(r.Members)-1].ID) != len(r.Members)-1:
		return fmt.Errorf("members: founders have the ids 0 to n - 1")
	case r.Parent != nil && (r.Parent.View < 0 || r.Parent.View >= maxViews):
		return fmt.Errorf("parent: view %d: out of range", r.Parent.View)
	}
	return nil
}

// checkChange returns why a record cannot come after those of the log.
func (l *Log) checkChange(r *Record) error {
	before := l.Last()
	switch {
	case r.First < before.First:
		return fmt.Errorf("first: %d: must be at least %d, where the view before begins", r.First, before.First)
	case r.Lineage != before.Lineage:
		return fmt.Errorf("lineage: %d: must be that of view 0, %d", r.Lineage, l.records[0].Lineage)
	case r.Parent != nil:
		return fmt.Errorf("parent: only view 0 has one")
	}
	if err := l.checkEnd(r); err != nil {
		return err
	}
	want := map[ID]bool{}
	for _, m := range before.Members {
		want[m.ID] = true
	}
	for i, id := range r.Left {
		if !want[id] || i > 0 && id <= r.Left[i-1] {
			return fmt.Errorf("left: id %d: no member of view %d, or not in ascending order", id, before.View)
		}
		delete(want, id)
	}
	for i, d := range r.Dead {
		if err := l.checkDead(r, d); err != nil {
			return err
		}
		if i > 0 && d.ID <= r.Dead[i-1].ID || slices.Contains(r.Left, d.ID) {
			return fmt.Errorf("dead: id %d: left as well, or not in ascending order", d.ID)
		}
		delete(want, d.ID)
	}
	for i, s := range r.Sponsors {
		if err := l.checkSponsor(r, s); err != nil {
			return err
		}
		if i > 0 && s.ID <= r.Sponsors[i-1].ID {
			return fmt.Errorf("sponsors: id %d: not in ascending order", s.ID)
		}
		want[s.ID] = true
	}
	for _, m := range r.Members {
		if !want[m.ID] {
			return fmt.Errorf("members: id %d: neither a member of view %d nor one that joins", m.ID, before.View)
		}
		delete(want, m.ID)
	}
	for id := range want {
		return fmt.Errorf("members: id %d is missing: it has not left and is not dead", id)
	}
	return l.checkLost(r)
}

// checkDead returns why a death cannot be.
func (l *Log) checkDead(r *Record, d Death) error {
	a, known := l.lives[d.ID]
	_, member := l.Last().Rank(d.ID)
	leaver := known && !a.dead && a.end < forever
	switch {
	case !member && !leaver:
		return fmt.Errorf("dead: id %d: neither a member of view %d nor one that leaves", d.ID, l.Last().View)
	case d.Last < a.first-1 || d.Last >= r.First:
		return fmt.Errorf("dead: id %d: last %d: must be %d to %d", d.ID, d.Last, a.first-1, r.First-1)
	}
	return nil
}

// checkSponsor returns why a sponsor cannot be.
func (l *Log) checkSponsor(r *Record, s Sponsor) error {
	_, member := l.Last().Rank(s.Sponsor)
	_, joins := r.SponsorOf(s.Sponsor)
	a, known := l.lives[s.ID]
	at := slices.IndexFunc(r.Dead, func(d Death) bool { return d.ID == s.ID })
	gone := slices.ContainsFunc(r.Dead, func(d Death) bool { return d.ID == s.Sponsor })
	switch {
	case !member || joins || gone:
		return fmt.Errorf("sponsors: id %d: sponsor %d: not a living member of view %d", s.ID, s.Sponsor, l.Last().View)
	case known && at < 0:
		return fmt.Errorf("sponsors: id %d: was given before, and no id is used twice", s.ID)
	case known && r.Dead[at].Last != a.first-1:
		return fmt.Errorf("sponsors: id %d: has begun: last %d, want %d", s.ID, r.Dead[at].Last, a.first-1)
	case !known && len(l.lives) > 0 && s.ID <= slices.Max(l.ids):
		return fmt.Errorf("sponsors: id %d: must be above all ids given before", s.ID)
	}
	return nil
}

// checkLost returns why a message cannot be lost.
func (l *Log) checkLost(r *Record) error {
	for _, loss := range r.Lost {
		last, dead := l.Dead(loss.Sender)
		for _, d := range r.Dead {
			if d.ID == loss.Sender {
				last, dead = d.Last, true
			}
		}
		if !dead || loss.Exchange < 0 || loss.Exchange > last || !l.takes(loss.Receiver, loss.Sender, loss.Exchange) {
			return fmt.Errorf("lost: exchange %d from %d to %d: no such message counts", loss.Exchange, loss.Sender,
				loss.Receiver)
		}
	}
	return nil
}

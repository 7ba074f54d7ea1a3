package council

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"

	"gossiptrainer/gossip/view"
)

// A chair is what a leader knows beside the minutes. Members say it again to each new leader.
type chair struct {
	heard    map[ID]time.Duration // when a member was last heard
	words    map[ID]Word          // the last word of each
	stateful map[ID]bool          // have a state: no member loses it
	faults   map[ID]string        // why members that are heard are taken for dead
	opened   time.Duration        // when this leader learned of the open CLOSE, or its term began
	asks     []Newcomer
	term     uint64        // in which this member leads
	ready    bool          // an entry of the leader's own term is applied, so it knows all that was decided
	until    time.Duration // a proposal is under way until then; 0: none
	alone    bool          // it heard no majority of voters when it last looked
	bereft   bool          // a change would leave no member with a state, when it last looked
}

// reset begins a term: all were heard just now.
func (h *chair) reset(c *Council) {
	*h = chair{heard: map[ID]time.Duration{}, words: map[ID]Word{}, stateful: map[ID]bool{}, faults: map[ID]string{},
		opened: c.times.now}
	for _, id := range c.watched() {
		h.heard[id] = c.times.now
	}
	for _, m := range c.waiting {
		h.heard[m.ID] = c.times.now
	}
}

// slept moves all times by a pause of this member.
func (h *chair) slept(pause time.Duration) {
	for id := range h.heard {
		h.heard[id] += pause
	}
	if h.until > 0 {
		h.until += pause
	}
	h.opened += pause
}

// hear takes the word of a member.
func (h *chair) hear(c *Council, from ID, w Word) {
	h.heard[from] = c.times.now
	if !possible(c, from, &w) {
		h.faults[from] = "sent a report that cannot be true"
		return
	}
	if c.open != nil && w.Seq == c.seq {
		delete(h.faults, from)
	}
	h.words[from] = w
	if w.Report.State {
		h.stateful[from] = true
	}
	for _, n := range w.Asks {
		known := func(a Newcomer) bool { return a.Process == n.Process }
		if view.CheckMember(n.Member) == nil && !slices.ContainsFunc(h.asks, known) {
			h.asks = append(h.asks, n)
		}
	}
	if w.Done && c.done[from] && from != c.o.ID {
		c.send(from, Message{Word: &Word{Bye: true}})
	}
}

// watched returns those whose reports a change needs.
func (c *Council) watched() []ID {
	if c.log == nil {
		return nil
	}
	return c.log.Watched(func(id ID) bool { return c.done[id] })
}

// quiet reports whether a member was silent too long.
func (h *chair) quiet(c *Council, id ID) bool {
	if id == c.o.ID {
		return false
	}
	if h.faults[id] != "" {
		return true
	}
	since, known := h.heard[id]
	if !known {
		h.heard[id] = c.times.now
		return false
	}
	return c.times.now-since > c.o.Grace
}

// hearsMost reports whether the leader hears a majority of voters.
func (h *chair) hearsMost(c *Council) bool {
	return c.Majority(func(id ID) bool { return id == c.o.ID || c.times.now-h.heard[id] <= c.o.Grace })
}

// act proposes an entry, if one is due. It reports whether it has.
func (h *chair) act(c *Council) bool {
	if !c.Leads() || !h.ready || c.times.now < h.until {
		return false
	}
	if was := h.alone; was || !h.hearsMost(c) {
		if h.alone = !h.hearsMost(c); h.alone {
			return false
		}
		for id := range h.heard { // the leader was apart, and the others were not silent: each has its grace again
			h.heard[id] = c.times.now
		}
	}
	it := h.due(c)
	if it == nil {
		return false
	}
	h.until = c.times.now + c.o.Patience
	return c.propose(it)
}

// propose appends an entry to the common log. raft refuses it now and then; then it comes again.
func (c *Council) propose(it *entry) bool {
	data, err := json.Marshal(it)
	if err != nil {
		return false
	}
	if it.Close != nil {
		return c.node.Propose(data) == nil
	}
	if len(c.conf.GetVotersOutgoing()) > 0 {
		return false
	}
	return c.node.ProposeConfChange(&pb.ConfChangeV2{Changes: changes(c, it), Context: data}) == nil
}

// changes returns the changes of raft's configuration that an entry makes.
func changes(c *Council, it *entry) (all []*pb.ConfChangeSingle) {
	add := func(kind pb.ConfChangeType, id ID) {
		all = append(all, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(raftID(id))})
	}
	switch {
	case it.Join != nil:
		add(pb.ConfChangeAddLearnerNode, it.Join.ID)
		return all
	case it.Done != nil:
		add(pb.ConfChangeRemoveNode, *it.Done)
		return all
	}
	voters, learners := electorate(it.View.IDs())
	for _, id := range voters {
		if !slices.Contains(c.conf.GetVoters(), raftID(id)) {
			add(pb.ConfChangeAddNode, id)
		}
	}
	for _, id := range append(slices.Clone(learners), it.View.Left...) {
		if !slices.Contains(c.conf.GetLearners(), raftID(id)) {
			add(pb.ConfChangeAddLearnerNode, id)
		}
	}
	for _, d := range it.View.Dead {
		if _, stays := it.View.Rank(d.ID); !stays {
			add(pb.ConfChangeRemoveNode, d.ID)
		}
	}
	if len(all) == 0 {
		add(pb.ConfChangeUpdateNode, c.o.ID) // no change: the entry must not look like the end of a joint configuration
	}
	return all
}

// due returns the entry to propose next, nil if none is due.
func (h *chair) due(c *Council) *entry {
	h.bereft = false
	if c.open != nil {
		more := h.fence(c, c.open.Fence)
		if !h.remains(c, more, nil) {
			more = h.fence(c, nil)
			h.bereft = h.lacksState(c, more)
		}
		if !slices.Equal(more, c.open.Fence) && h.remains(c, more, nil) {
			leaves := h.leaves(c, more, c.open.Leaves)
			return &entry{For: c.log.Len(), Close: &view.Close{Fence: more, Joins: c.open.Joins, Leaves: leaves,
				End: c.open.End}}
		}
		return h.decide(c)
	}
	h.asks = slices.DeleteFunc(h.asks, func(n Newcomer) bool {
		_, given := c.given[n.Process]
		return given
	})
	if len(h.asks) > 0 && len(c.log.Last().Members)+len(c.waiting) < c.o.Most {
		n := h.asks[0]
		n.ID = c.next
		return &entry{Join: &n}
	}
	for _, id := range c.watched() {
		if _, leaves := c.log.Ends(id); leaves && h.words[id].Done {
			return &entry{Done: &id}
		}
	}
	for _, m := range c.waiting {
		if h.quiet(c, m.ID) {
			return &entry{Done: &m.ID}
		}
	}
	return h.close(c)
}

// fence returns those of the fence and all watched that were silent too long, in ascending order.
func (h *chair) fence(c *Council, fence []ID) []ID {
	all := slices.Clone(fence)
	for _, id := range c.watched() {
		if (h.quiet(c, id) || h.again(c, id) || h.mute(c, id)) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// mute reports whether a member that is heard has not answered the open CLOSE in time. Without it nothing is decided.
func (h *chair) mute(c *Council, id ID) bool {
	waited := c.times.now - h.opened
	if c.open == nil || id == c.o.ID || h.words[id].Seq == c.seq || waited <= c.o.Grace {
		return false
	}
	h.faults[id] = fmt.Sprintf("did not answer a change for %v", waited.Round(time.Second/10))
	return true
}

// again reports whether the key of a member has come back as another process: the one before is dead, and silent. A
// guest may have made the key up.
func (h *chair) again(c *Council, id ID) bool {
	if id == c.o.ID || c.times.now-h.heard[id] <= c.o.Patience {
		return false
	}
	i := slices.IndexFunc(c.log.Last().Members, func(m view.Member) bool { return m.ID == id })
	return i >= 0 && slices.ContainsFunc(c.waiting, func(m view.Member) bool {
		return m.Key != "" && m.Key == c.log.Last().Members[i].Key
	})
}

// remains reports whether a member with a state would remain.
func (h *chair) remains(c *Council, fence, leaves []ID) bool {
	return slices.ContainsFunc(c.log.Last().Members, func(m view.Member) bool {
		return h.stateful[m.ID] && !slices.Contains(fence, m.ID) && !slices.Contains(leaves, m.ID)
	})
}

// lacksState reports whether members with a state are in the fence, and all others have said that they have none.
func (h *chair) lacksState(c *Council, fence []ID) bool {
	return len(fence) > 0 && !h.remains(c, fence, nil) && !slices.ContainsFunc(c.log.Last().IDs(), func(id ID) bool {
		_, told := h.words[id]
		return !told && id != c.o.ID && !slices.Contains(fence, id)
	})
}

// leaves returns those of some members that may leave: they are not in the fence, and one with a state remains.
func (h *chair) leaves(c *Council, fence, want []ID) (all []ID) {
	for _, id := range want {
		if !slices.Contains(fence, id) && h.remains(c, fence, append(slices.Clone(all), id)) {
			all = append(all, id)
		}
	}
	return all
}

// close returns the CLOSE of all that waits, nil if nothing does.
func (h *chair) close(c *Council) *entry {
	next := view.Close{Fence: h.fence(c, nil)}
	if !h.remains(c, next.Fence, nil) {
		h.bereft = h.lacksState(c, next.Fence)
		return nil
	}
	_, ended := view.End(c.log)
	_, stops := h.stopper(c)
	if next.End = !ended && stops; next.End { // a leaver or a newcomer has nothing to do after the end
		next.Margin = c.o.Margin
		if len(next.Fence) > 0 {
			next.Margin = 0
		}
		return &entry{For: c.log.Len(), Close: &next}
	}
	over := ended || c.host.Over() // nothing is left to do for a newcomer
	for _, m := range c.log.Last().Members {
		if h.words[m.ID].Leave && !over {
			next.Leaves = append(next.Leaves, m.ID)
		}
	}
	next.Leaves = h.leaves(c, next.Fence, next.Leaves)
	for _, m := range c.waiting { // in the order of ids: a newcomer has the last rank
		if over || c.times.now-h.heard[m.ID] >= c.o.Patience {
			break
		}
		next.Joins = append(next.Joins, m)
	}
	if len(next.Joins) > 0 && !h.certain(c, next) {
		next.Joins = nil
	}
	if len(next.Fence)+len(next.Leaves)+len(next.Joins) == 0 && !h.torn(c) {
		return nil
	}
	if len(next.Fence) == 0 {
		next.Margin = c.o.Margin
	}
	return &entry{For: c.log.Len(), Close: &next}
}

// torn reports whether a member waits for the repair of a message whose sender is dead.
func (h *chair) torn(c *Council) bool {
	return slices.ContainsFunc(c.watched(), func(id ID) bool {
		return slices.ContainsFunc(h.words[id].Report.Torn, func(t view.Loss) bool {
			_, dead := c.log.Dead(t.Sender)
			return dead && t.Receiver == id && !c.log.Lost(t)
		})
	})
}

// word returns the last word of a member, and of the leader itself its present one.
func (h *chair) word(c *Council, id ID) (w Word, ok bool) {
	if id == c.o.ID {
		return c.word(), true
	}
	w, ok = h.words[id]
	return w, ok
}

// decide returns the VIEW of the open CLOSE, nil as long as a report is missing.
func (h *chair) decide(c *Council) *entry {
	var reports []view.Report
	for _, id := range c.watched() {
		if slices.Contains(c.open.Fence, id) {
			continue
		}
		w, ok := h.word(c, id)
		if !ok || w.Seq != c.seq {
			return nil
		}
		reports = append(reports, w.Report)
	}
	decide := c.o.Decide
	if decide == nil {
		decide = view.Decide
	}
	r, err := decide(c.log, *c.open, reports)
	if err != nil {
		return nil // no member with a state would remain: it waits
	}
	r.Why = h.why(c, &r) + doubts(&r, reports)
	if c.o.Certain != nil && !c.o.Certain(c.log, r) {
		r.Why += "; theta has no certificate, and stays as it was"
	}
	return &entry{View: &r, Seq: c.seq}
}

// doubts names the averages that were open when one end died. Where workers share no exchanges, no message says whether
// that end has moved.
func doubts(r *view.Record, reports []view.Report) (text string) {
	for _, report := range reports {
		for _, held := range report.Held {
			at := func(d view.Death) bool { return d.ID == held.ID }
			if slices.Contains(held.Exchanges, view.Doubt) && slices.ContainsFunc(r.Dead, at) && len(text) < mostDoubts {
				text += fmt.Sprintf("; an average of members %d and %d was open", report.ID, held.ID)
			}
		}
	}
	return text
}

// mostDoubts bounds the text about open averages, in bytes.
const mostDoubts = 1 << 10

// certain reports whether θ would have a certificate after a change, as far as the members have come.
func (h *chair) certain(c *Council, next view.Close) bool {
	if c.o.Certain == nil {
		return true
	}
	var reports []view.Report
	for _, id := range c.watched() {
		w, ok := h.word(c, id)
		if ok && !slices.Contains(next.Fence, id) {
			w.Report.Promise = max(w.Report.Promise, w.Report.Next)
			reports = append(reports, w.Report)
		}
	}
	r, err := view.Decide(c.log, next, reports)
	return err != nil || c.o.Certain(c.log, r)
}

// why says how a record came about.
func (h *chair) why(c *Council, r *view.Record) string {
	var all []string
	name := func(id ID) string {
		for _, m := range slices.Concat(c.log.Last().Members, r.Members) {
			if m.ID == id && m.Name != "" {
				return "machine " + m.Name
			}
		}
		return fmt.Sprint("member ", id)
	}
	for _, d := range r.Dead {
		if sponsor, again := r.SponsorOf(d.ID); again {
			all = append(all, fmt.Sprintf("%s begins with the state of %s", name(d.ID), name(sponsor)))
			continue
		}
		fault := h.faults[d.ID]
		if fault == "" {
			fault = fmt.Sprintf("was silent for %v", (c.times.now - h.heard[d.ID]).Round(time.Second/10))
		}
		all = append(all, name(d.ID)+" "+fault)
	}
	for _, id := range r.Left {
		all = append(all, name(id)+" left")
	}
	for _, s := range r.Sponsors {
		if !slices.ContainsFunc(r.Dead, func(d view.Death) bool { return d.ID == s.ID }) {
			all = append(all, name(s.ID)+" joins")
		}
	}
	if r.End {
		if id, found := h.stopper(c); found {
			all = append(all, name(id)+" stops the run")
		}
	}
	if len(all) == 0 {
		for _, loss := range r.Lost {
			all = append(all, fmt.Sprintf("%s could not recover a message of %s", name(loss.Receiver), name(loss.Sender)))
		}
	}
	if len(all) > mostReasons {
		all = append(all[:mostReasons], "and others")
	}
	return strings.Join(all, "; ")
}

// mostReasons bounds the reasons of a record.
const mostReasons = 16

package council

import (
	"encoding/json"
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/gossip/view"
)

// An entry of the common log. One of its parts is there.
type entry struct {
	Close *view.Close  `json:"close,omitempty"`
	For   int          `json:"for,omitempty"` // of a CLOSE: the number of the next view
	View  *view.Record `json:"view,omitempty"`
	Seq   uint64       `json:"seq,omitempty"` // of a VIEW: the CLOSE that it answers
	Join  *Newcomer    `json:"join,omitempty"`
	Done  *ID          `json:"done,omitempty"`
}

// snapshotEvery is the number of entries after which a member drops old ones.
const snapshotEvery = 1000

// apply takes the next entry of the common log. One that does not fit the entries before has no effect at any member.
func (c *Council) apply(e *pb.Entry) error {
	c.last = e.GetIndex()
	joined := false
	switch e.GetType() {
	case pb.EntryConfChangeV2:
		var change pb.ConfChangeV2
		if err := proto.Unmarshal(e.GetData(), &change); err != nil {
			return err
		}
		if len(change.GetContext()) > 0 {
			var it entry
			if json.Unmarshal(change.GetContext(), &it) != nil || !c.take(&it) {
				return nil
			}
			joined = it.Join != nil
		}
		c.conf = c.node.ApplyConfChange(&change)
	case pb.EntryNormal:
		var it entry
		if len(e.GetData()) > 0 && json.Unmarshal(e.GetData(), &it) == nil {
			c.take(&it)
		}
	}
	c.chair.until = 0
	c.chair.ready = c.chair.ready || e.GetTerm() == c.chair.term
	if !joined && c.last%snapshotEvery != 0 {
		return nil
	}
	data, err := c.minutes.encode()
	if err != nil {
		return err
	}
	if _, err := c.store.CreateSnapshot(c.last, c.conf, data); err != nil {
		return err
	}
	return c.store.Compact(c.last)
}

// take applies an entry, if it fits.
func (c *Council) take(it *entry) bool {
	switch {
	case it.Close != nil:
		return c.takeClose(it)
	case it.View != nil:
		return c.takeView(it)
	case it.Join != nil:
		if _, given := c.given[it.Join.Process]; given || it.Join.ID != c.next {
			return false
		}
		c.given[it.Join.Process] = c.next
		c.next++
		c.waiting = append(c.waiting, it.Join.Member)
		return true
	case it.Done != nil:
		return c.takeDone(*it.Done)
	}
	return false
}

// takeClose applies a CLOSE. While one is open only another fence may come. It is larger, as a rule. It may be smaller
// where no member with a state would remain, and some are back. A VIEW answers the last CLOSE alone. So frames that an
// earlier one has refused come late, and nothing else.
func (c *Council) takeClose(it *entry) bool {
	next := it.Close
	if it.For != c.log.Len() {
		return false
	}
	if c.open != nil && slices.Equal(next.Fence, c.open.Fence) {
		return false
	}
	c.open, c.seq, c.chair.opened = next, c.last, c.times.now
	c.host.Close(*next)
	c.say()
	return true
}

// takeView applies a VIEW, if it answers the open CLOSE.
func (c *Council) takeView(it *entry) bool {
	if c.open == nil || it.Seq != c.seq || c.log.Add(*it.View) != nil {
		return false
	}
	c.settleView()
	return true
}

// settleView does what follows from the newest record.
func (c *Council) settleView() {
	r := c.log.Last()
	c.open = nil
	c.waiting = slices.DeleteFunc(slices.Clone(c.waiting), func(m view.Member) bool {
		_, member := r.Rank(m.ID)
		return member
	})
	c.host.View(*r)
}

func (c *Council) takeDone(id ID) bool {
	_, leaves := c.log.Ends(id)
	waits := slices.ContainsFunc(c.waiting, func(m view.Member) bool { return m.ID == id })
	if c.done[id] || !leaves && !waits || c.open != nil {
		return false
	}
	c.done[id] = true
	c.waiting = slices.DeleteFunc(slices.Clone(c.waiting), func(m view.Member) bool { return m.ID == id })
	return true
}

// notes are the minutes in a snapshot.
type notes struct {
	Records []view.Record `json:"records"`
	Open    *view.Close   `json:"open"`
	Seq     uint64        `json:"seq"`
	Waiting []view.Member `json:"waiting"`
	Done    []ID          `json:"done"`
	Given   map[uint64]ID `json:"given"`
	Next    ID            `json:"next"`
}

func (m *minutes) encode() ([]byte, error) {
	n := notes{Open: m.open, Seq: m.seq, Waiting: m.waiting, Given: m.given, Next: m.next}
	for v := range m.log.Len() {
		n.Records = append(n.Records, *m.log.At(v))
	}
	for id := range m.done {
		n.Done = append(n.Done, id)
	}
	slices.Sort(n.Done)
	return json.Marshal(n)
}

// restore takes over the minutes of a snapshot. The host learns of each record that is new.
func (c *Council) restore(data []byte, index uint64) error {
	var n notes
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if len(n.Records) == 0 {
		return fmt.Errorf("a snapshot without views")
	}
	c.last, c.next = index, n.Next
	for process, id := range n.Given {
		c.given[process] = id
	}
	for _, id := range n.Done {
		c.done[id] = true
	}
	if c.log == nil {
		log, err := view.New(c.o.Base, n.Records[0])
		if err != nil {
			return err
		}
		c.log = log
		c.host.View(n.Records[0])
	}
	for _, r := range n.Records[c.log.Len():] {
		if err := c.log.Add(r); err != nil {
			return err
		}
		c.settleView()
	}
	c.waiting = n.Waiting
	if c.open = n.Open; c.open != nil && n.Seq != c.seq {
		c.host.Close(*c.open)
	}
	c.seq = n.Seq
	return nil
}

package node

import "gossiptrainer/node/handshake"

// forget lets go of messages that no neighbour will ask for again. One without
// checkpoints needs what it may not have mixed yet.
func (d *driver) forget() error {
	if d.journal == nil {
		return nil
	}
	before := d.journal.Next()
	for _, s := range d.peers {
		switch {
		case !s.hears:
		case s.durable == handshake.NoCheckpoint:
			before = min(before, d.journal.Next()-1-d.slots.Lead)
		default:
			before = min(before, s.durable)
		}
	}
	return d.journal.Drop(before)
}

// shorten lets go of what neighbours would need that take no checkpoints, be it that
// they cannot, so that they do not fill the disk. One that dies then cannot be helped.
func (d *driver) shorten() error {
	before := d.journal.Base()
	shorter, err := d.journal.Shorten(d.keeper.room())
	if err != nil || !shorter {
		return err
	}
	for _, s := range d.peers {
		if base := d.journal.Base(); s.hears && s.durable != handshake.NoCheckpoint && before <= s.durable && s.durable < base {
			d.log.Warn("the journal is full: a neighbour that takes no checkpoints could not come back",
				"neighbour", int(s.rank), "its checkpoint", s.durable, "kept from exchange", base)
		}
	}
	return nil
}

// close removes the journal at the end of a run, if no neighbour can come back to it.
func (d *driver) close() {
	if d.journal == nil {
		return
	}
	for _, s := range d.peers {
		if s.hears && s.durable != handshake.NoCheckpoint && s.durable < d.journal.Next() && !d.ended(s.rank) {
			return
		}
	}
	if err := d.journal.Remove(); err != nil {
		d.log.Warn("the journal is of no use any more, but cannot be removed", "why", err)
	}
}

package gossip

// Output collects the requests of a layer to its driver between two calls of Ready. The zero value is ready for use.
type Output struct {
	next, now batch // next collects, the driver holds now
}

type batch struct {
	send    []Frame
	spent   [][]byte
	control []Control
	notes   []Note
}

// Send adds a frame to be sent.
func (e *Output) Send(f Frame) { e.next.send = append(e.next.send, f) }

// Spend adds a payload that is no longer in use, for the driver to use again.
func (e *Output) Spend(payload []byte) {
	if cap(payload) > 0 {
		e.next.spent = append(e.next.spent, payload)
	}
}

// Control adds an action on links.
func (e *Output) Control(c Control) { e.next.control = append(e.next.control, c) }

// Note adds an event for the user.
func (e *Output) Note(n Note) { e.next.notes = append(e.next.notes, n) }

// Empty reports whether no request waits for the next Ready.
func (e *Output) Empty() bool {
	n := &e.next
	return len(n.send)+len(n.spent)+len(n.control)+len(n.notes) == 0
}

// Add returns the collected requests, followed by those of the layer inside, which are in r.
func (e *Output) Add(r Ready) Ready {
	e.next, e.now = e.now, e.next
	clear(e.next.send) // so that payloads can be freed
	clear(e.next.spent)
	clear(e.next.control)
	clear(e.next.notes)
	e.next = batch{e.next.send[:0], e.next.spent[:0], e.next.control[:0], e.next.notes[:0]}
	join(&e.now.send, &r.Send)
	join(&e.now.spent, &r.Spent)
	join(&e.now.control, &r.Control)
	join(&e.now.notes, &r.Notes)
	return r
}

// join puts the items of mine before those of theirs, in the memory of mine.
func join[T any](mine, theirs *[]T) {
	if len(*mine) > 0 {
		*mine = append(*mine, *theirs...)
		*theirs = *mine
	}
}

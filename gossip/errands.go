package gossip

// Errands collect what a layer asks for between two calls of Ready. The zero value is
// ready.
type Errands struct {
	next, now errands // next collects, the driver has now
}

type errands struct {
	send    []Frame
	spent   [][]byte
	control []Control
	notes   []Note
}

// Send adds a frame to be sent.
func (e *Errands) Send(f Frame) { e.next.send = append(e.next.send, f) }

// Spend adds a payload that nobody needs any more.
func (e *Errands) Spend(payload []byte) {
	if cap(payload) > 0 {
		e.next.spent = append(e.next.spent, payload)
	}
}

// Control adds something to be done with links.
func (e *Errands) Control(c Control) { e.next.control = append(e.next.control, c) }

// Note adds something that people should know.
func (e *Errands) Note(n Note) { e.next.notes = append(e.next.notes, n) }

// Add returns what has been collected, followed by what r, of the layer inside, asks for.
func (e *Errands) Add(r Ready) Ready {
	e.next, e.now = e.now, e.next
	clear(e.next.send) // lets go of payloads
	clear(e.next.spent)
	clear(e.next.control)
	clear(e.next.notes)
	e.next = errands{e.next.send[:0], e.next.spent[:0], e.next.control[:0], e.next.notes[:0]}
	join(&e.now.send, &r.Send)
	join(&e.now.spent, &r.Spent)
	join(&e.now.control, &r.Control)
	join(&e.now.notes, &r.Notes)
	return r
}

// join puts what is in mine before theirs, in the memory of mine.
func join[T any](mine, theirs *[]T) {
	if len(*mine) > 0 {
		*mine = append(*mine, *theirs...)
		*theirs = *mine
	}
}

package record

import "time"

// A Past is what a worker has come to in processes that are over. One that comes
// back counts from zero: what it tells is made that of all its lives.
type Past struct {
	Time           time.Duration
	Sent, Received Bytes
	Messages       Messages
}

// PastAt returns the past of a worker that dies after s, a step of all its lives.
func PastAt(s Step) Past {
	return Past{Time: s.Time, Sent: s.Sent, Received: s.Received, Messages: s.Messages}
}

// Step returns s as one of all lives.
func (p Past) Step(s Step) Step {
	own := s.Messages.mean()
	s.Time += p.Time
	s.Sent.Add(p.Sent)
	s.Received.Add(p.Received)
	s.Messages.Add(p.Messages)
	if own > 0 {
		s.Effective *= s.Messages.mean() / own
	}
	return s
}

// Final returns f as that of all lives.
func (p Past) Final(f Final) Final {
	f.Time += p.Time
	f.Sent.Add(p.Sent)
	f.Messages.Add(p.Messages)
	return f
}

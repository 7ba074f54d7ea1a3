package node

import (
	"context"
	"errors"
)

// knock asks a neighbour that has not called to call: it may not know where this
// peer is since that was started anew. It is also how this peer learns that it
// will never be called, as a stranger or the twin of another process.
func (e *edge) knock(ctx context.Context) {
	s, err := openStream(ctx, e.links.host, e.id, linkProtocol)
	if err == nil {
		forget := context.AfterFunc(ctx, func() { s.Reset() }) // it has called
		t := newTalk(s)
		if err = t.greet(e.links.admission, e.links.hello(), func(hello) *RefusedError { return nil }); err == nil {
			err = t.agree()
		}
		forget()
		s.Reset() // it calls on a stream of its own
	}
	if no, ok := errors.AsType[*RefusedError](err); ok && no.Reason != NotReady {
		e.failed(no)
		return
	}
	e.log.Debug("has not called", "err", err)
}

// answer is what one who opens the streams says to a knock.
func (e *edge) answer(t *talk) {
	err := t.greet(e.links.admission, e.links.hello(), func(theirs hello) *RefusedError {
		if no := e.recognise(theirs); no != nil {
			return no
		}
		e.rouse()
		return &RefusedError{Reason: NotReady, Detail: "this end calls"}
	})
	if no, ok := errors.AsType[*RefusedError](err); ok && no.Reason != NotReady {
		e.links.refused.tell(e.log, "refused a peer", "refused "+no.Reason.String(), "why", no)
	}
}

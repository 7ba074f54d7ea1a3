package handshake

import "time"

// Greet authenticates the other end and exchanges hellos. Both ends send at once, which also makes
// libp2p settle the protocol of a new stream. judge may refuse the other's hello. An error ends the stream: a stranger
// must not keep it.
func (t *Talk) Greet(a *Admission, mine Hello, judge func(theirs Hello) *RefusedError) (err error) {
	defer func() {
		if err != nil {
			t.Stream.Reset()
		}
	}()
	if err := t.admit(a); err != nil {
		return err
	}
	t.Mine = mine
	if err := t.Say(aboutMe, mine.append(nil)); err != nil {
		return err
	}
	body, err := t.Expect(aboutMe, helloMax)
	if err != nil {
		return err
	}
	if t.Theirs, err = parseHello(body); err != nil {
		return t.Refuse(Refusal(Protocol, "%v", err))
	}
	if no := mine.compareLineage(t.Theirs, a.Run); no != nil { // such runs may differ in their settings as well
		return t.Refuse(no)
	}
	if err := t.compareSections(); err != nil {
		return err
	}
	if no := judge(t.Theirs); no != nil {
		return t.Refuse(no)
	}
	return nil
}

// Agree sends consent and waits for the other end's.
func (t *Talk) Agree() error {
	if err := t.Say(AboutYes, nil); err != nil {
		return err
	}
	if _, err := t.Expect(AboutYes, 0); err != nil {
		return err
	}
	return t.Stream.SetDeadline(time.Time{})
}

package members

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"gossiptrainer/gossip/member"
	"gossiptrainer/internal/checkpoint"
)

// partsOf cuts the state of a sponsor into pieces.
func partsOf(s *member.State) ([]*part, error) {
	var text bytes.Buffer
	if err := checkpoint.Encode(&text, s.Snapshot); err != nil {
		return nil, err
	}
	whole := text.Bytes()
	sum := sha256.Sum256(whole)
	var all []*part
	for at := 0; at < len(whole); at += pieceLen {
		all = append(all, &part{exchange: s.Exchange, whole: int64(len(whole)), at: int64(at), sum: sum,
			data: whole[at:min(len(whole), at+pieceLen)]})
	}
	return all, nil
}

// An assembly puts the pieces of a state together. The first piece of a state begins again.
type assembly struct {
	most  int64 // bytes of a state
	first part
	text  []byte
}

// add takes a piece. It returns the state with its last one.
func (a *assembly) add(p *part) (*member.State, error) {
	if p.whole > a.most {
		return nil, fmt.Errorf("%w: a state of %d bytes: at most %d", errLetter, p.whole, a.most)
	}
	if p.at == 0 {
		a.first, a.text = *p, nil
	}
	if p.exchange != a.first.exchange || p.sum != a.first.sum || p.whole != a.first.whole || p.at != int64(len(a.text)) {
		return nil, fmt.Errorf("%w: a piece of a state that does not follow the last one", errLetter)
	}
	a.text = append(a.text, p.data...)
	if int64(len(a.text)) < p.whole {
		return nil, nil
	}
	text := a.text
	a.text = nil
	if sha256.Sum256(text) != p.sum {
		return nil, fmt.Errorf("%w: a state with another hash than its pieces say", errLetter)
	}
	s, err := checkpoint.Decode(bytes.NewReader(text), p.whole)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLetter, err)
	}
	return &member.State{Exchange: p.exchange, Snapshot: s}, nil
}

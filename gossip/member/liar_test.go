package member

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gossiptrainer/gossip"
)

// weight returns the bytes of the letters of others that a member holds.
func weight(m *Member) (bytes int) {
	for _, e := range m.store.unread {
		for _, l := range e.letters {
			bytes += len(l.Frame.Payload) + 1
		}
	}
	for _, frames := range m.store.got {
		for _, f := range frames {
			bytes += len(f.Payload) + 1
		}
	}
	return bytes
}

// allowed returns the bytes that a member may hold: of each other one a message in each exchange of the span.
func allowed(m *Member) int {
	return m.o.Council.Most * span(m) * (2*most(m, m.o.Council.Most) + dim)
}

// lie returns a letter that no honest member sends. It is from a member that knows exchange and view of another one.
func lie(r *rand.Rand, self ID, to *Member) Letter {
	_, at := to.Next()
	x := at + r.IntN(3)
	every := to.o.Plan.Every
	f := gossip.Frame{From: self, Kind: gossip.Data, Round: x*every + every - 1, Payload: make([]byte, 4*dim)}
	l := Letter{Frame: &f, View: label(to, x)}
	switch r.IntN(7) {
	case 0:
		f.Piece = dim + r.IntN(1<<16)
	case 1:
		f.Hop = 20 + r.IntN(1<<16)
	case 2:
		if f.From = to.log.Last().IDs()[0]; f.From == self {
			f.Piece = dim
		}
	case 3:
		l.View, f.Round = to.log.Len()+2, r.IntN(1<<20)
		f.Payload = make([]byte, r.IntN(1<<12))
	case 4:
		f.Piece, f.Payload = r.IntN(dim), make([]byte, 1<<16)
	case 5:
		f.Round += every << r.IntN(20) * 1000
	case 6:
		f.Hop, f.Piece, f.Kind = -1-r.IntN(9), -1-r.IntN(9), gossip.FrameKind(r.IntN(256))
	}
	return l
}

// A member that lies lets others hold no more than honest ones may need, and changes no float of the run.
func TestALiarTakesLittleMemory(t *testing.T) {
	const liar = 1
	for _, rule := range []string{"dpsgd", "pieces", "gt", "allreduce", "server"} {
		for seed := uint64(1); seed < 12; seed++ {
			s := settingOf(seed)
			if s.rule, s.n = rule, 3+int(seed%3); s.together() != nil {
				s.every = 1
			}
			w := newWorld(s)
			r := rand.New(rand.NewPCG(seed, 0))
			heaviest, lies := "", 0
			w.payload = 128
			w.lies = func(from, to *actor) (all []Letter) {
				if from.ID == liar && to.M.log != nil && to.ID != liar {
					lies++
					all = append(all, lie(r, from.ID, to.M))
				}
				if n := weight(to.M); to.M.log != nil && n > allowed(to.M) {
					heaviest = fmt.Sprintf("member %d holds %d bytes of letters", to.ID, n)
				}
				return all
			}
			err := w.Run()
			if err == nil {
				err = checkWorld(w)
			}
			if err != nil || heaviest != "" || lies == 0 {
				t.Fatalf("%d lies, error %v %s\n%s", lies, err, heaviest, describe(w))
			}
		}
	}
}

// Fuzzed letters take little memory, however many there are.
func FuzzLettersTakeLittleMemory(f *testing.F) {
	f.Add(uint64(1), 7, 0, 0, 3, 900)
	f.Add(uint64(2), 0, 1<<16, 0, 1<<20, 64)
	f.Add(uint64(3), 1, 0, 1<<16, 5, 64)
	f.Add(uint64(8), 7, 0, 0, 0, 200)
	f.Add(uint64(9), 0, 0, 0, 0, 200)
	f.Fuzz(func(t *testing.T, seed uint64, view, piece, hop, round, size int) {
		w := newWorld(setting{kind: kinds[seed%2], rule: rules[seed%uint64(len(rules))], n: 4, every: 1})
		w.payload = 128
		w.Faults = 0
		m, err := Found(w.options(0), w.founders(t))
		if err != nil {
			t.Skip(err)
		}
		for i := range 2000 {
			frame := gossip.Frame{From: ID(1 + i%3), Kind: gossip.Data, Round: round + i, Hop: hop + i%2, Piece: piece + i%5/4,
				Payload: make([]byte, max(0, size)%4096)}
			if err := m.Receive(frame.From, Letter{Frame: &frame, View: view}); err != nil {
				t.Fatal(err)
			}
		}
		if n := weight(m); n > allowed(m) {
			t.Fatalf("the member holds %d bytes, want at most %d", n, allowed(m))
		}
	})
}

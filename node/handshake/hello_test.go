package handshake

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
)

func TestProofIsBoundToEverything(t *testing.T) {
	a, b := peer.ID("a"), peer.ID("b")
	with := func(secret, run string) *Admission { return &Admission{Run: run, Secret: []byte(secret)} }
	n1, n2, bound := []byte("n1"), []byte("n2"), []byte("session")
	base := with("s", "run").proof(a, b, n1, n2, bound)
	if !slices.Equal(base, with("s", "run").proof(a, b, n1, n2, bound)) {
		t.Fatal("the same parts give another proof")
	}
	others := map[string][]byte{
		"the other direction": with("s", "run").proof(b, a, n2, n1, bound),
		"another verifier":    with("s", "run").proof(a, "c", n1, n2, bound),
		"another secret":      with("t", "run").proof(a, b, n1, n2, bound),
		"another run":         with("s", "rum").proof(a, b, n1, n2, bound),
		"another own nonce":   with("s", "run").proof(a, b, []byte("n3"), n2, bound),
		"another nonce":       with("s", "run").proof(a, b, n1, []byte("n3"), bound),
		"another session":     with("s", "run").proof(a, b, n1, n2, []byte("sessiom")),
		"no session":          with("s", "run").proof(a, b, n1, n2, nil),
		"parts cut elsewhere": with("s", "ru").proof("na", b, n1, n2, bound),
	}
	for name, other := range others {
		if slices.Equal(base, other) {
			t.Errorf("%s gives the same proof", name)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	a := &Admission{Run: "run"}
	f.Add(a.challenge(make([]byte, nonceLen)))
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		nonce, no := a.understand(b)
		if no == nil && !bytes.Equal(a.challenge(nonce), b) {
			t.Fatalf("%x is taken for a challenge", b)
		}
	})
}

func FuzzHello(f *testing.F) {
	h := Hello{N: 8, Dim: 5, Rank: 3, Epoch: 9, Lineage: 6, Parent: Parent{5, 4}, Host: "alpha",
		Sections: []SectionSum{{Name: "s"}}}
	f.Add(h.append(nil))
	f.Add((&Hello{Rank: Unranked}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHello(b)
		if err != nil {
			return
		}
		if again := h.append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

func TestBothEndsSayWhereTwoRunsHaveParted(t *testing.T) {
	for _, c := range []struct {
		ours, theirs Parent
		here, there  string
	}{
		{Parent{}, Parent{}, "the two have begun apart", "the two have begun apart"},
		{Parent{3, 1}, Parent{4, 1}, "the two have begun apart", "the two have begun apart"},
		{Parent{2, 9}, Parent{}, "ours goes on from view 9 of theirs", "theirs goes on from view 9 of ours"},
		{Parent{}, Parent{1, 9}, "theirs goes on from view 9 of ours", "ours goes on from view 9 of theirs"},
		{Parent{3, 7}, Parent{3, 0}, "both go on from lineage 3, theirs from its view 0, ours from its view 7",
			"both go on from lineage 3, theirs from its view 7, ours from its view 0"},
	} {
		mine, theirs := Hello{Lineage: 1, Parent: c.ours}, Hello{Lineage: 2, Parent: c.theirs}
		no := mine.compareLineage(theirs, "crew")
		if here := "another run of the name crew: its lineage is 2, ours 1: " + c.here; no == nil || no.Detail != here {
			t.Errorf("%+v: refusal %+v, want %q", c, no, here)
			continue
		}
		if there := "another run of the name crew: its lineage is 1, ours 2: " + c.there; no.There != there {
			t.Errorf("%+v: the other end reads %q, want %q", c, no.There, there)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte{1, 2, 0, 0, 0, 7, 7}, 100)
	no := RefusedError{Reason: OtherSection, Section: "s", Detail: "d"}
	f.Add(append([]byte{2, 28, 0, 0, 0}, no.append(nil)...), 0)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit = max(0, min(limit, MaxMessage))
		about, body, err := readMessage(bytes.NewReader(b), limit)
		if err != nil {
			return
		}
		if len(body) > max(limit, refusalMax) {
			t.Fatalf("%d bytes, limit %d", len(body), limit)
		}
		if about == aboutNo {
			if e := parseRefusal(body, "x"); e.Error() == "" || strings.ContainsAny(e.Error(), "\x00\x1b\n") {
				t.Fatalf("unfit to print: %q", e.Error())
			}
		}
	})
}

func TestWhoCannotBeHelpedIsRefused(t *testing.T) {
	none, log, deaf := Reach{Lead: 1}, Reach{Lead: 1, Kept: true, Oldest: 30}, Reach{Lead: 1, Kept: true}
	tests := map[string]struct {
		reach        Reach
		ours, theirs int
		want         string // "": accepted
	}{
		"in step":                     {none, 7, 8, ""},
		"behind, no log":              {none, 7, 5, "no log of messages is kept here: set checkpoint"},
		"in front, no log":            {none, 5, 7, "no log of messages is kept here: set checkpoint"},
		"behind, in the log":          {log, 40, 30, ""},
		"behind, before the log":      {log, 40, 29, "the log of worker 3 begins at exchange 30"},
		"in front":                    {log, 30, 40, ""},
		"in step, before the log":     {log, 30, 29, "the log of worker 3 begins at exchange 30"},
		"behind, and is told nothing": {deaf, 40, 2, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mine := Hello{Rank: 3, Round: test.ours}
			no := mine.ComparePlace(Hello{Rank: 4, Round: test.theirs}, 4, test.reach)
			wrong := no != nil && (no.Reason != LostState || !no.Permanent() || !strings.Contains(no.Detail, test.want))
			if wrong || (no == nil) != (test.want == "") {
				t.Errorf("%v, want %q", no, test.want)
			}
		})
	}
}

package report

import (
	"bytes"
	"testing"
)

// A record that is read can be written and read again with as many events; a
// damaged one is an error, never a panic.
func FuzzRead(f *testing.F) {
	var good bytes.Buffer
	for _, e := range []Event{
		{Step: &Step{Rank: 1, Round: 2, Loss: 0.5}}, {Status: &Status{Rank: -1, State: Waiting, Missing: []int{3}}},
		{Final: &Final{Rank: 2, Rounds: 9, Digest: "ab"}}, {Score: &Score{Rank: 1, Round: 3}},
	} {
		if err := Write(&good, e); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-5])
	f.Add([]byte("{}\n\n"))
	f.Add([]byte(`{"final":{"accuracy":null,"rank":1e3}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, e := range events {
			if err := Write(&again, e); err != nil {
				t.Fatalf("%q was read as what cannot be written: %v", text, err)
			}
		}
		back, err := Read(&again)
		if err != nil || len(back) != len(events) {
			t.Fatalf("%d events became %d (%v)", len(events), len(back), err)
		}
	})
}

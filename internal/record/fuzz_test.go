package record

import (
	"bytes"
	"testing"
)

// A record that is read can be written and read again with as many events; a damaged one is an error, never a panic.
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

// A record that is read can be summed up, in memory that its length bounds, whatever its numbers are.
func FuzzSum(f *testing.F) {
	f.Add([]byte(`{"step":{"rank":0,"round":1,"time_ns":5,"loss":0.5,"gap":0.1,"theta":0.2,"bits":8}}` + "\n" +
		`{"step":{"rank":1,"round":1,"time_ns":6,"loss":0.4,"gap":0.1,"bits":4}}` + "\n"))
	f.Add([]byte(`{"step":{"rank":65535,"round":1,"loss":1e308}}` + "\n" + `{"step":{"rank":3,"round":9,"loss":-1e308}}` +
		"\n"))
	f.Add([]byte(`{"score":{"rank":-1,"round":1,"loss":2,"accuracy":0.5}}` + "\n" + `{"score":{"rank":-1,"round":99}}` +
		"\n"))
	f.Add([]byte(`{"edge":{"rank":1,"peer":2,"exchange":7,"weight":0.5}}` + "\n" + `{"final":{"rank":2,"rounds":9}}` +
		"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		run := &Run{Events: events}
		run.Progress()
		run.Curve()
		run.ReachLoss(0.5)
		run.ReachAccuracy(0.5)
		const peers = 8
		if run.Within(Limits{Peers: peers, Rounds: 1 << 20}) == nil {
			_, _ = SumLosses(events, peers, nil) // an error where rows do not sum to 1
		}
	})
}

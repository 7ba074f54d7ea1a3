package report

import (
	"bytes"
	"io"
	"testing"

	"gossiptrainer/internal/record"
)

// Every readable record can be drawn. Its length bounds the memory, also for extreme numbers.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(`{"step":{"rank":0,"round":1,"time_ns":5,"loss":0.5,"gap":0.1,"theta":0.2,"bits":8}}` + "\n" +
		`{"step":{"rank":1,"round":1,"time_ns":6,"loss":0.4,"gap":0.1,"bits":4}}` + "\n"))
	f.Add([]byte(`{"step":{"rank":65535,"round":1,"loss":1e308}}` + "\n" + `{"step":{"rank":3,"round":9,"loss":-1e308}}` +
		"\n"))
	f.Add([]byte(`{"score":{"rank":-1,"round":1,"loss":2,"accuracy":0.5}}` + "\n" + `{"score":{"rank":-1,"round":99}}` +
		"\n"))
	f.Add([]byte(`{"edge":{"rank":1,"peer":2,"exchange":7,"weight":0.5}}` + "\n" + `{"final":{"rank":2,"rounds":9}}` +
		"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := record.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		run := &record.Run{Events: events}
		_ = WriteFigure(io.Discard, run, "svg") // an error where there is no step
		_ = WriteComparison(io.Discard, []*record.Run{run, run}, "svg")
	})
}

package record

import (
	"math"
	"testing"
	"time"
)

func TestWhatIsOverCounts(t *testing.T) {
	const parameters = 100
	before := Messages{Count: 30, Stream: 30 * 400}
	last := Step{Round: 15, Time: 2 * time.Second, Sent: Bytes{1, 2, 3}, Received: Bytes{4, 5, 6}, Messages: before,
		Effective: before.Bits(parameters)}
	now := Messages{Count: 10, Stream: 10 * 100}
	s := PastAt(last).Step(Step{Round: 20, Time: time.Second, Sent: Bytes{10, 10, 10}, Received: Bytes{10, 10, 10},
		Messages: now, Effective: now.Bits(parameters)})
	all := Messages{Count: 40, Stream: 13000}
	if s.Round != 20 || s.Time != 3*time.Second || s.Sent != (Bytes{11, 12, 13}) || s.Received != (Bytes{14, 15, 16}) ||
		s.Messages != all {
		t.Errorf("step %+v, want the sums", s)
	}
	if want := all.Bits(parameters); math.Abs(s.Effective-want) > 1e-9 {
		t.Errorf("%v bits a parameter, want %v", s.Effective, want)
	}
	if f := PastAt(last).Final(Final{Rounds: 20, Time: time.Second, Messages: now}); f.Rounds != 20 ||
		f.Time != 3*time.Second || f.Sent.Wire != 3 || f.Messages != all {
		t.Errorf("result %+v, want the sums", f)
	}
	if s := PastAt(last).Step(Step{}); s.Messages != before || s.Effective != 0 {
		t.Errorf("a step of one that has said nothing yet: %+v", s)
	}
}

package node

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// What the bulletins of all peers take of the slowest link stays small.
func TestBulletinsLeaveSlowLinksToTheRun(t *testing.T) {
	for _, test := range []struct {
		n    int
		rate float64 // bits per second of the slowest link, 0: no limit
		want time.Duration
	}{
		{8, 0, time.Second},
		{8, 1e8, time.Second},
		{8, 5e6, 2304 * time.Millisecond},
		{8, 1e6, 10 * time.Second},
		{2, 3e5, 9600 * time.Millisecond},
		{8, 3e5, 10 * time.Second},
		{16, 3e5, 19200 * time.Millisecond},
	} {
		if got := newsPeriod(test.n, test.rate); got.Round(time.Millisecond) != test.want {
			t.Errorf("%d peers: a bulletin every %v, want %v", test.n, got, test.want)
		}
	}
	if quick, late := (&board{period: time.Second}).silence(), (&board{period: 10 * time.Second}).silence(); quick != 5*time.Second || late != 30*time.Second {
		t.Errorf("silence is %v and, on a slow link, %v, want 5s and 30s", quick, late)
	}
}

// A bulletin is no longer than what its period is reckoned with, less what
// gossipsub adds.
func TestBulletinsHaveTheSizeThatIsReckonedWith(t *testing.T) {
	const signed = 300 // signature, key, sender, number, topic, headers
	step := &record.Step{
		Rank: 7, Round: 78200, Time: 9999 * time.Second, Loss: 1.2345678901234567, Gap: 0.01234567890123456, Moved: 270000, Theta: 0.01234567890123456, Bits: 8,
		Compute: 50 * time.Millisecond, Wait: time.Second, Codec: time.Millisecond, Effective: 8.012345678901234,
		Sent: record.Bytes{Payload: 1e10, Stream: 1e10, Wire: 1e10}, Received: record.Bytes{Payload: 1e10, Stream: 1e10, Wire: 1e10},
	}
	text, err := json.Marshal(bulletin{Rank: 7, Seq: 9999, Step: step, Status: &record.Status{Rank: 7, State: record.Testing, Detail: strings.Repeat("x", 20)}})
	if err != nil || len(text)+signed > bulletinBytes {
		t.Errorf("%d bytes and %d around them, error %v, want at most %d", len(text), signed, err, bulletinBytes)
	}
}

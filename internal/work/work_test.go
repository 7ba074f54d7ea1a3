package work

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
)

// A finished machine has mixed once and does not train any more.
type finished struct{ gossip.Machine }

func (finished) Mixed() algos.Mixed { return algos.Mixed{Gap: 0.5, Moved: 3} }
func (finished) Params() []float32  { return []float32{1, 2} }
func (finished) ExtraMemory() int   { return 40 }

func TestRecordedRounds(t *testing.T) {
	for _, test := range []struct {
		every int
		want  []int
	}{
		{0, nil}, {1, []int{1, 2, 3, 4, 5, 6, 7}}, {3, []int{3, 6, 7}}, {7, []int{7}}, {100, []int{7}},
	} {
		task := Task{Rounds: 7, Recording: Recording{Every: test.every}}
		var got []int
		for k := 1; k <= task.Rounds; k++ {
			if task.Recorded(k) {
				got = append(got, k)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("every %d: rounds %v are recorded, want %v", test.every, got, test.want)
		}
	}
}

func TestStepKeepsWhatTheDriverMeasured(t *testing.T) {
	task := Task{Rank: 2, Machine: finished{}, Recording: Recording{
		Parameters: 4, Theta: func(k int) float64 { return float64(10 * k) }, Bits: func(k int) int { return k + 1 },
	}}
	measured := record.Step{
		Round: 5, Time: time.Second, Loss: 7, Compute: 1, Wait: 2, Codec: 3, Sent: record.Bytes{Payload: 8},
		Received: record.Bytes{Wire: 9}, Messages: record.Messages{Count: 2, Stream: 4},
	}
	want := measured
	want.Rank, want.Gap, want.Moved, want.Theta, want.Bits, want.Effective = 2, 0.5, 3, 40, 5, measured.Messages.Bits(4)
	if got := task.Step(measured); got != want {
		t.Errorf("step %+v, want %+v", got, want)
	}
	task.Theta, task.Bits = nil, nil
	want.Theta, want.Bits = 0, 0
	if got := task.Step(measured); got != want {
		t.Errorf("without theta and bits: step %+v, want %+v", got, want)
	}
}

func TestFinalNamesTheModel(t *testing.T) {
	task := Task{Rank: 3, Machine: finished{}}
	digest := record.Digest([]float32{1, 2})
	want := record.Final{Rank: 3, Rounds: 6, Time: time.Minute, Digest: hex.EncodeToString(digest[:]), ExtraMemory: 40}
	if got := task.Final(record.Final{Rounds: 6, Time: time.Minute}); got != want {
		t.Errorf("final %+v, want %+v", got, want)
	}
}

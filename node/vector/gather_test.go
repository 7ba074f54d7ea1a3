package vector

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"gossiptrainer/topology"
)

func ignored(topology.Rank) {}

// All get the vectors of all, and one that starts again gets them too.
func TestVectorsAreGatheredInTheOrderOfRanks(t *testing.T) {
	services := group(t, 3)
	want := []float32{0, 1, 10, 11, 20, 21}
	gather := func(rank int, s *Service) error {
		var heard atomic.Int64
		got, err := s.Gather(t.Context(), "rows", want[2*rank:][:2], Fail, func(topology.Rank) { heard.Add(1) })
		if err == nil && (!slices.Equal(got, want) || heard.Load() != 2) {
			return errors.New("other vectors")
		}
		return err
	}
	for range 2 {
		all(t, services, gather)
	}
	for _, s := range services {
		s.Told(t.Context(), "rows")
		if p, _, _ := s.shelf.find(key{tag: "rows"}); p == nil {
			t.Error("the vector is gone with its last reader")
		}
	}
}

// A worker may fetch a vector just before its owner gathers under the same tag again.
func TestAVectorThatIsKeptTwiceKeepsItsReaders(t *testing.T) {
	services := group(t, 2)
	services[0].keep("rows", []float32{1})
	if err := services[1].Fetch(t.Context(), 0, "rows", make([]float32, 1)); err != nil {
		t.Fatal(err)
	}
	services[0].Told(t.Context(), "rows")
	services[0].keep("rows", []float32{1})
	if left, _ := services[0].shelf.unread(key{tag: "rows"}); left {
		t.Error("the vector has lost its readers")
	}
}

// Where others go on without a lost worker, one that comes back takes what another has gathered.
func TestAWorkerThatComesBackTakesWhatAnotherHasGathered(t *testing.T) {
	services := group(t, 3)
	want := []float32{0, 10, 20}
	services[0].keep("all rows", want) // worker 1 is lost
	got, err := services[2].Gather(t.Context(), "rows", []float32{20}, LeaveOut, ignored)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("gathered %v, error %v", got, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	services[2].Told(over, "rows") // although worker 1 has not fetched them
	if _, err := services[2].Gather(over, "rows", []float32{20}, Fail, ignored); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the end of the context", err)
	}
}

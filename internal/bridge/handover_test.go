package bridge

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// replies starts a script that steps at once, with a vector of n elements.
func replies(t testing.TB, memory Memory, n int) (s *Script, x []float32) {
	t.Helper()
	s, err := Start(t.Context(), Options{Command: actor("replies", string(memory), strconv.Itoa(n)), Rank: 0})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		_ = s.Wait()
	})
	_, x, err = s.Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Welcome(Welcome{Rounds: 1000}, x, nil); err != nil {
		t.Fatal(err)
	}
	return s, x
}

// acts are those of a script, until it is lost.
func acts(s *Script) <-chan Act {
	acts, _ := s.Acts()
	return acts
}

// lost is closed when a script is.
func lost(s *Script) <-chan struct{} {
	_, gone := s.Acts()
	return gone
}

// gradient takes one round.
func gradient(s *Script, g []float32, k int, x []float32) (loss float32, err error) {
	if err := s.Go(k, x); err != nil {
		return 0, err
	}
	select {
	case act := <-acts(s):
		if act.Kind != Stepped {
			return 0, fmt.Errorf("act %d instead of a step", act.Kind)
		}
		loss, _ := s.Direction(g, x)
		return loss, nil
	case <-lost(s):
		return 0, s.Lost()
	}
}

func TestRoundsAllocateNothing(t *testing.T) {
	for _, memory := range memories() {
		s, x := replies(t, memory, 3*chunkLen+5)
		g, k := make([]float32, len(x)), 0
		count := testing.AllocsPerRun(50, func() {
			if _, err := gradient(s, g, k, x); err != nil {
				t.Fatal(err)
			}
			k++
		})
		if count != 0 {
			t.Errorf("%v allocations per round with %s", count, memory)
		}
		if slices.ContainsFunc(g, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: a step that changes nothing has an update direction", memory)
		}
	}
}

// BenchmarkHandOver compares the two copies of a round with a copy of the same 100 MB into the same region.
func BenchmarkHandOver(b *testing.B) {
	for _, memory := range memories() {
		b.Run(string(memory), func(b *testing.B) {
			s, x := replies(b, memory, 25_000_000)
			g, k := slices.Clone(x), 0
			var plain []time.Duration
			for b.Loop() {
				if _, err := gradient(s, g, k, x); err != nil {
					b.Fatal(err)
				}
				k++
				began := time.Now()
				copy(s.region.data, x) // the script waits for GO
				plain = append(plain, time.Since(began))
			}
			var sum time.Duration
			for _, d := range plain {
				sum += d
			}
			spent := s.Spent()
			b.ReportMetric(float64(sum.Microseconds())/1000/float64(k), "memcpy-ms")
			b.ReportMetric(float64(spent.Out)/float64(sum), "out/memcpy")
			b.ReportMetric(float64(spent.Back)/float64(sum), "back/memcpy")
			b.ReportMetric(float64(spent.Script.Microseconds())/1000/float64(k), "script-ms")
		})
	}
}

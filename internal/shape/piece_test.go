package shape

import "testing"

func TestPiecesFitTheRate(t *testing.T) {
	for rate, want := range map[float64]int{1e5: leastPiece, 1e6: 6250, 1e8: Record, 0: Chunk} {
		if got := (Link{Rate: rate, Latency: 1}).Piece(); got != want {
			t.Errorf("%g bit/s: pieces of %d bytes, want %d", rate, got, want)
		}
	}
}

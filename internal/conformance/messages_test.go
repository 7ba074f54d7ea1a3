package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/internal/vec"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A witness is the codec of a lane of one worker, which records what it encodes.
type witness struct {
	*moniqua.Codec
	models   [][]float32 // by round: the vector that was encoded
	payloads [][]byte    // by round
}

// Encode records a whole message.
func (w *witness) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	out, err := w.Codec.Encode(dst, k, x)
	w.record(k, x, out[len(dst):])
	return out, err
}

// EncodePiece records a message that has one piece, as all messages of the vectors have.
func (w *witness) EncodePiece(dst []byte, k, piece int, x []float32) ([]byte, error) {
	out, err := w.Codec.EncodePiece(dst, k, piece, x)
	w.record(k, x, out[len(dst):])
	return out, err
}

func (w *witness) record(k int, x []float32, payload []byte) {
	w.models[k], w.payloads[k] = slices.Clone(x), bytes.Clone(payload)
}

// checkFirstMessages compares grid, indices, symbols and hashes.
func (r *run) checkFirstMessages(t *testing.T) {
	t.Helper()
	if len(r.FirstMessages) == 0 {
		t.Error("no first messages in the file")
	}
	packing, err := quant.NewPacking(r.Algorithm.Moniqua.Levels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range r.FirstMessages {
		for p, peer := range want.Peers {
			what := fmt.Sprintf("step %d lane %d worker %d", want.Step, want.Lane, peer)
			grid, err := r.sent[want.Lane][peer].Grid(want.Step)
			if err != nil {
				t.Fatal(err)
			}
			near(t, what+" grid", grid.Step(), want.Grid, 1e-12)
			indices := r.sent[want.Lane][peer].indices(t, want.Step)
			if diff := gocmp.Diff(want.K[p], indices); diff != "" {
				t.Errorf("%s indices (-want +got):\n%s", what, diff)
			}
			symbols := make([]uint16, len(indices))
			if err := packing.Unpack(symbols, r.symbols(want.Lane, int(peer), want.Step)); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want.Symbols[p], symbols); diff != "" {
				t.Errorf("%s symbols (-want +got):\n%s", what, diff)
			}
			if hash := hashOf(indices); hash != want.Hash[p] {
				t.Errorf("%s hash %s, want %s", what, hash, want.Hash[p])
			}
		}
	}
}

// symbols returns the packed symbols that worker i sent in a lane of round k.
func (r *run) symbols(lane, i, k int) []byte {
	payload := r.sent[lane][i].payloads[k]
	return payload[:len(payload)-r.hashBytes()]
}

// indices returns the indices of the model that the worker sent in round k.
func (w *witness) indices(t *testing.T, k int) []int32 {
	t.Helper()
	x := w.models[k]
	indices := make([]int32, len(x))
	if err := w.Indices(indices, k, x); err != nil {
		t.Fatal(err)
	}
	return indices
}

// decodeErrors lists the messages that receivers decode to wrong indices. In full precision there are none.
func (r *run) decodeErrors(t *testing.T) (errors []decodeError) {
	t.Helper()
	if r.Algorithm.Moniqua == nil {
		return nil
	}
	for lane, workers := range r.sent {
		for k := r.period() - 1; k < r.Steps; k += r.period() {
			for i, rows := range r.rows {
				for _, e := range rows.At(k / r.period()).In {
					wrong := decodeError{Step: k, Lane: lane, Receiver: topology.Rank(i), Sender: e.Peer}
					if wrong.Coords = workers[i].wrong(t, k, workers[e.Peer]); wrong.Coords > 0 {
						errors = append(errors, wrong)
					}
				}
			}
		}
	}
	return inOrder(errors)
}

// wrong returns in how many coordinates the worker decodes the message of round k of another one wrongly.
func (w *witness) wrong(t *testing.T, k int, other *witness) (coords int) {
	t.Helper()
	sent, got := other.indices(t, k), make([]int32, len(w.models[k]))
	if err := w.Decode(got, k, w.models[k], other.payloads[k]); err != nil {
		t.Fatal(err)
	}
	for c := range got {
		if got[c] != sent[c] {
			coords++
		}
	}
	return coords
}

// checkDecoding compares the list of decodeErrors with the reference.
func (r *run) checkDecoding(t *testing.T) {
	t.Helper()
	want := inOrder(r.DecodeErrors)
	if diff := gocmp.Diff(want, r.decodeErrors(t)); diff != "" {
		t.Errorf("decode errors (-want +got):\n%s", diff)
	}
	var caught int64
	for _, w := range r.workers {
		caught += w.Repairs().Violations
	}
	if r.Algorithm.Verify && caught != int64(len(want)) {
		t.Errorf("%d wrong messages were caught, want %d", caught, len(want))
	}
}

// checkGap compares the largest distances of neighbours by lane, in units of θ.
func (r *run) checkGap(t *testing.T) {
	t.Helper()
	gaps := make([]float64, len(r.sent))
	for lane, workers := range r.sent {
		for k := r.period() - 1; k < r.Steps; k += r.period() {
			for i, rows := range r.rows {
				for _, e := range rows.At(k / r.period()).In {
					apart := vec.MaxAbsDiff(workers[i].models[k], workers[e.Peer].models[k])
					gaps[lane] = max(gaps[lane], float64(apart)/r.Algorithm.Moniqua.theta(lane).at(k))
				}
			}
		}
	}
	want := []float64{r.GapOverTheta}
	if len(r.GapsOverTheta) > 0 {
		want = r.GapsOverTheta
	}
	nearAll(t, "largest gap of neighbours over theta by lane", gaps, want, 10*r.Tolerance.Float32)
}

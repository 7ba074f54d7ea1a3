package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

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
	if len(r.Messages) == 0 {
		t.Error("no first messages in the file")
	}
	for _, want := range r.Messages {
		got := r.message(t, want.Step, want.Lane, want.Peers)
		what := fmt.Sprintf("messages of step %d lane %d", want.Step, want.Lane)
		near(t, what+": grid", got.Grid, want.Grid, 1e-12)
		got.Grid = want.Grid
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// message returns the messages of workers in a lane of round k.
func (r *run) message(t *testing.T, k, lane int, peers []topology.Rank) firstMessage {
	t.Helper()
	packing, err := quant.NewPacking(r.Algorithm.Moniqua.Levels)
	if err != nil {
		t.Fatal(err)
	}
	m := firstMessage{Step: k, Lane: lane, Peers: peers}
	for _, peer := range peers {
		grid, err := r.sent[lane][peer].Grid(k)
		if err != nil {
			t.Fatal(err)
		}
		indices := r.sent[lane][peer].indices(t, k)
		symbols := make([]uint16, len(indices))
		if err := packing.Unpack(symbols, r.symbols(lane, int(peer), k)); err != nil {
			t.Fatal(err)
		}
		m.Grid = grid.Step()
		m.K, m.Symbols = append(m.K, indices), append(m.Symbols, symbols)
		m.Hash = append(m.Hash, hashOf(indices))
	}
	return m
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
	want := inOrder(r.Errors)
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

// checkGap compares the largest distances of neighbours by lane.
func (r *run) checkGap(t *testing.T) {
	t.Helper()
	want := []float64{r.Gap}
	if len(r.Gaps) > 0 {
		want = r.Gaps
	}
	nearAll(t, "largest gap of neighbours over theta by lane", r.gaps(), want, 10*r.Tolerance.Float32)
}

// gaps returns the largest distances of neighbours by lane, in units of θ.
func (r *run) gaps() []float64 {
	gaps := make([]float64, len(r.sent))
	for lane, workers := range r.sent {
		for k := r.period() - 1; k < r.Steps; k += r.period() {
			for i, rows := range r.rows {
				for _, e := range rows.At(k / r.period()).In {
					apart := distance(workers[i].models[k], workers[e.Peer].models[k])
					gaps[lane] = max(gaps[lane], float64(apart)/r.Algorithm.Moniqua.theta(lane).at(k))
				}
			}
		}
	}
	return gaps
}

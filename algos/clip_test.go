package algos_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// clipped returns the model of a worker at x after it has mixed with its neighbours' models.
func clipped(t *testing.T, clip *algos.Clip, x []float32, models ...[]float32) []float32 {
	t.Helper()
	a := &algos.DPSGD{X: slices.Clone(x), Codec: algos.Full{}, Clip: clip}
	if _, err := a.Send(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	var in []algos.Message
	for j, m := range models {
		in = append(in, algos.Message{From: topology.Rank(j), Weight: 0.25, Payload: encode(t, m)})
	}
	if _, err := a.Mix(0, 0, in); err != nil {
		t.Fatal(err)
	}
	return a.X
}

func TestPullsAreClippedToTheRadius(t *testing.T) {
	x := []float32{1, 1}
	near, far := []float32{1, 2}, []float32{-2, -3} // 1 and 5 away
	for name, test := range map[string]struct {
		clip *algos.Clip
		want []float32
	}{
		"not clipped":           {&algos.Clip{Radius: 6}, []float32{1 - 0.75, 1 + 0.25 - 1}},
		"radius 2.5":            {&algos.Clip{Radius: 2.5}, []float32{1 - 0.375, 1 + 0.25 - 0.5}},
		"one liar":              {&algos.Clip{Liars: 1}, []float32{1 - 0.15, 1 + 0.25 - 0.2}},
		"no neighbour to trust": {&algos.Clip{Liars: 2}, []float32{1, 1}},
	} {
		got := clipped(t, test.clip, x, near, far)
		for c := range got {
			if math.Abs(float64(got[c]-test.want[c])) > 1e-6 {
				t.Errorf("%s: %v, want %v", name, got, test.want)
				break
			}
		}
	}
}

// unsure is a codec that cannot verify messages.
type unsure struct{ algos.Full }

func (unsure) Verifies() bool { return false }

func TestWildMessagesAreLeftOutWithoutVerification(t *testing.T) {
	x, near := []float32{0, 0}, []float32{0, 1}
	for _, test := range []struct {
		codec  algos.Codec
		radius float64
		far    float32
		want   float32 // of the first coordinate; at weight 1/4
	}{
		{unsure{}, 0, 7, 0.25}, {unsure{}, 0, 9, 0}, {algos.Full{}, 0, 9, 0.25}, {unsure{}, 1, 9, 0.25},
	} {
		clip := &algos.Clip{Liars: 1, Radius: test.radius}
		a := &algos.DPSGD{X: slices.Clone(x), Codec: test.codec, Clip: clip}
		in := []algos.Message{{From: 0, Weight: 0.25, Payload: encode(t, near)},
			{From: 1, Weight: 0.25, Payload: encode(t, []float32{test.far, 0})}}
		if _, err := a.Send(0, 0, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Mix(0, 0, in); err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(a.X[0]-test.want)) > 1e-6 || math.Abs(float64(a.X[1]-0.25)) > 1e-6 {
			t.Errorf("%T, radius %v, %v away: %v, want %v and 0.25", test.codec, test.radius, test.far, a.X, test.want)
		}
	}
}

func TestUnclippedMessagesAreMixedAsUsual(t *testing.T) {
	x, y, z := vector(1, 300), vector(2, 300), vector(3, 300)
	if got, want := clipped(t, &algos.Clip{Radius: 1e6}, x, y, z), clipped(t, nil, x, y, z); !slices.Equal(got, want) {
		t.Error("another result than that of plain mixing")
	}
}

// However far away a liar is, it moves a worker no farther than the other neighbours do.
func TestALiarMovesNoWorkerFar(t *testing.T) {
	x, honest, lie := vector(1, 300), vector(2, 300), vector(3, 300)
	vec.Scale(lie, 1e6, lie)
	before := clipped(t, nil, x, honest)
	after := clipped(t, &algos.Clip{Liars: 1}, x, honest, lie)
	pull := make([]float32, len(x))
	vec.Sub(pull, honest, x)
	most := 0.25 * math.Sqrt(vec.Dot(pull, pull))
	vec.Sub(pull, after, before)
	if moved := math.Sqrt(vec.Dot(pull, pull)); moved > most*1.0001 || moved < most*0.9999 {
		t.Errorf("the liar moves the model by %v, want %v, as the honest one", moved, most)
	}
}

func TestClippingRefusesBeforeAnythingChanges(t *testing.T) {
	x := vector(1, 300)
	a := &algos.DPSGD{X: slices.Clone(x), Codec: algos.Full{}, Clip: &algos.Clip{Liars: 1}}
	if _, err := a.Send(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	in := []algos.Message{{From: 2, Weight: 0.5, Payload: encode(t, vector(2, 300))},
		{From: 5, Weight: 0.5, Payload: []byte{1}}}
	_, err := a.Mix(0, 0, in)
	var bad *algos.MessageError
	if !errors.As(err, &bad) || bad.From != 5 || !slices.Equal(a.X, x) {
		t.Errorf("error %v, want one of worker 5's message and the model as it was", err)
	}
}

// A doubter wants repairs for all messages but that of worker 1.
type doubter struct{ algos.Full }

func (doubter) Mix(acc []float32, k int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	var wrong algos.MismatchError
	for _, m := range in {
		if m.From != 1 && m.Repair == nil {
			wrong.From = append(wrong.From, m.From)
		}
	}
	if len(wrong.From) > 0 {
		return algos.Mixed{}, &wrong
	}
	return algos.Full{}.Mix(acc, k, x, mine, in)
}

func TestClippingAsksForAllRepairsAtOnce(t *testing.T) {
	a := &algos.DPSGD{X: vector(1, 30), Codec: doubter{}, Clip: &algos.Clip{Liars: 1}}
	if _, err := a.Send(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	payload := encode(t, vector(2, 30))
	in := []algos.Message{{From: 0, Weight: 0.2, Payload: payload}, {From: 1, Weight: 0.2, Payload: payload},
		{From: 2, Weight: 0.2, Payload: payload}}
	_, err := a.Mix(0, 0, in)
	var wrong *algos.MismatchError
	if !errors.As(err, &wrong) || !slices.Equal(wrong.From, []topology.Rank{0, 2}) {
		t.Fatalf("error %v, want the messages of workers 0 and 2", err)
	}
	in[0].Repair, in[2].Repair = []byte{}, []byte{}
	if _, err := a.Mix(0, 0, in); err != nil {
		t.Errorf("with repairs: %v", err)
	}
}

func TestClippingAllocatesNothing(t *testing.T) {
	a := &algos.DPSGD{X: vector(1, 3000), Codec: algos.Full{}, Clip: &algos.Clip{Liars: 1}}
	in := []algos.Message{{From: 0, Weight: 0.3, Payload: encode(t, vector(2, 3000))},
		{From: 1, Weight: 0.3, Payload: encode(t, vector(3, 3000))}}
	if got := testing.AllocsPerRun(10, func() {
		if _, err := a.Mix(0, 0, in); err != nil {
			t.Error(err)
		}
	}); got != 0 {
		t.Errorf("%v allocations per mixing", got)
	}
	if got := a.ExtraMemory(); got != 4*3000 {
		t.Errorf("%d bytes of extra memory, want one vector", got)
	}
}

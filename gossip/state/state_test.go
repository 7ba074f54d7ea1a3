package state

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// A thing is a Keeper of variables of all kinds.
type thing struct {
	x      []float32
	late   []float32 // nil until it is needed
	scale  float64
	losses []float64 // up to 3
	table  []float64
	count  int
	note   uint64
	seen   bool
	steps  []uint32
	sent   []byte
	part   *thing
}

func newThing() *thing {
	return &thing{x: make([]float32, 2), table: make([]float64, 2), steps: make([]uint32, 2)}
}

func (o *thing) State(v *Visit) {
	v.Floats("x", o.x)
	v.Vector("late", &o.late, 2)
	v.Double("scale", &o.scale)
	v.List("losses", &o.losses, 3)
	v.Doubles("table", o.table)
	Int(v, "count", &o.count, -5, 5)
	Int(v, "note", &o.note, 0, math.MaxUint64)
	v.Bool("seen", &o.seen)
	v.Counts("steps", o.steps)
	v.Bytes("sent", &o.sent)
	v.Part("stateless", 7)
	if o.part != nil {
		v.Part("part", o.part)
	}
}

func full() *thing {
	return &thing{
		x: []float32{1, -2}, late: []float32{3, 4}, scale: 0.1, losses: []float64{5}, table: []float64{6, 7},
		count: -5, note: math.MaxUint64, seen: true, steps: []uint32{8, math.MaxUint32}, sent: []byte("abc"),
		part: newThing(),
	}
}

func TestAStateComesBack(t *testing.T) {
	var s, again Snapshot
	for range 2 { // the second time reuses memory
		s.Begin()
		s.Save("thing", full())
	}
	back := newThing()
	back.part = newThing()
	back.part.late = []float32{1, 1}
	if err := s.Load("thing", back); err != nil {
		t.Fatal(err)
	}
	again.Save("thing", back)
	if len(s.Tensors) != 20 || !slices.EqualFunc(s.Tensors, again.Tensors, func(a, b Tensor) bool {
		return a.Name == b.Name && a.Type == b.Type && string(a.Data) == string(b.Data)
	}) {
		t.Errorf("%+v\nbecame %+v", s.Tensors, again.Tensors)
	}
	if back.part.late != nil {
		t.Error("a vector that was not there yet is there")
	}
}

func TestACopyHasMemoryOfItsOwn(t *testing.T) {
	var s, copied Snapshot
	s.Save("thing", full())
	s.CopyTo(&copied)
	s.Tensors[0].Data[3] ^= 1
	back := newThing()
	back.part = newThing()
	if err := copied.Load("thing", back); err != nil || back.x[0] != 1 {
		t.Errorf("x %v, error %v", back.x, err)
	}
}

func TestInvalidStatesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *thing)
		want   string
	}{
		"a longer vector":   {func(o *thing) { o.x = make([]float32, 3) }, "thing/x: 3 floats, want 2"},
		"not a number":      {func(o *thing) { o.x[1] = float32(math.NaN()) }, "thing/x: 2 floats hold NaN or Inf"},
		"half a vector":     {func(o *thing) { o.late = o.late[:1] }, "thing/late: 1 floats, want 2"},
		"an infinite scale": {func(o *thing) { o.scale = math.Inf(1) }, "thing/scale: number 0 is +Inf"},
		"many losses":       {func(o *thing) { o.losses = make([]float64, 4) }, "thing/losses: 4 numbers, want at most 3"},
		"a longer table":    {func(o *thing) { o.table = make([]float64, 3) }, "thing/table: 3 numbers, want 2"},
		"a large count":     {func(o *thing) { o.count = 6 }, "thing/count: 6: want -5 to 5"},
		"fewer steps":       {func(o *thing) { o.steps = nil }, "thing/steps: 0 numbers, want 2"},
		"no part":           {func(o *thing) { o.part = nil }, "thing/part/x: missing"},
		"more parts":        {func(o *thing) { o.part.part = newThing() }, "this worker has no such tensor"},
	} {
		o := full()
		test.change(o)
		var s Snapshot
		s.Save("thing", o)
		back := newThing()
		back.part = newThing()
		var wrong *Error
		if err := s.Load("thing", back); !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// A driver copies the state in nearly every round.
func TestSavingAgainAllocatesNothing(t *testing.T) {
	o, s := full(), new(Snapshot)
	save := func() {
		s.Begin()
		s.Save("thing", o)
	}
	save()
	if n := testing.AllocsPerRun(100, save); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Tensors whose names have the same end are told apart.
func TestTensorsThatChangePlacesHaveTheirNames(t *testing.T) {
	o, s := full(), new(Snapshot)
	s.Save("something", o)
	s.Begin()
	s.Save("thing", o)
	s.Save("a/thing", o)
	back := newThing()
	back.part = newThing()
	for _, name := range []string{"thing", "a/thing"} {
		if err := s.Load(name, back); err != nil {
			t.Error(err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("thing/x", "F32", []byte{0, 0, 128, 63, 0, 0, 0, 64})
	f.Add("thing/count", "I64", []byte{9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, name, kind string, data []byte) {
		var s Snapshot
		s.Save("thing", full())
		at := slices.IndexFunc(s.Tensors, func(t Tensor) bool { return t.Name == name })
		if at < 0 {
			s.Tensors = append(s.Tensors, Tensor{})
			at = len(s.Tensors) - 1
		}
		s.Tensors[at] = Tensor{Name: name, Type: kind, Data: data}
		o := newThing()
		o.part = newThing()
		if s.Load("thing", o) != nil {
			return
		}
		if len(o.x) != 2 || o.late != nil && len(o.late) != 2 || len(o.losses) > 3 || o.count < -5 || o.count > 5 ||
			math.IsNaN(o.scale) {
			t.Errorf("loaded %+v", o)
		}
	})
}

// A shared snapshot has the memory of its keeper, which the next Save leaves alone.
func TestASharedSnapshotCopiesNoVector(t *testing.T) {
	o, s := full(), Share()
	for range 2 {
		s.Begin()
		s.Save("thing", o)
	}
	o.x[1] = 9
	var copied Snapshot
	s.CopyTo(&copied)
	again := newThing()
	again.part = newThing()
	if err := copied.Load("thing", again); err != nil {
		t.Fatal(err)
	}
	if again.x[1] != 9 || again.sent[0] != 'a' || o.late[1] != 4 {
		t.Errorf("%v, %q; the keeper has %v", again.x, again.sent, o.late)
	}
	if s.Bytes() != copied.Bytes() {
		t.Errorf("%d bytes, the copy has %d", s.Bytes(), copied.Bytes())
	}
}

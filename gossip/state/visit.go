package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/vec"
)

// A Visit is one walk over the state of a Keeper, either to copy it or to replace it. One method does both, so that
// they cannot disagree.
//
// The first error ends a replacement: later calls do nothing.
type Visit struct {
	snapshot *Snapshot
	path     []byte
	loading  bool
	at       map[string]int // index of every unused tensor
	err      error
}

// Loading reports whether the state is being replaced.
func (v *Visit) Loading() bool { return v.loading && v.err == nil }

// Fail ends a replacement because the tensor shown last is not valid.
func (v *Visit) Fail(name string, err error) {
	if v.loading && v.err == nil {
		v.err = &Error{v.name(name), err}
	}
}

// Part visits part below a name if it is a Keeper. A part without state is not a Keeper.
func (v *Visit) Part(name string, part any) {
	k, ok := part.(Keeper)
	if !ok || v.err != nil {
		return
	}
	above := len(v.path)
	v.path = append(append(v.path, '/'), name...)
	k.State(v)
	v.path = v.path[:above]
}

// Floats visits a vector of finite numbers whose length never changes.
func (v *Visit) Floats(name string, x []float32) {
	if !v.loading {
		t := v.save(name, "F32")
		t.Data = vec.AppendLE(t.Data, x)
		return
	}
	data, ok := v.load(name, "F32")
	switch {
	case !ok:
	case len(data) != 4*len(x):
		v.Fail(name, fmt.Errorf("%d floats, want %d", len(data)/4, len(x)))
	case !(vec.MaxAbsLE(data) <= math.MaxFloat32):
		v.Fail(name, fmt.Errorf("%d floats hold NaN or Inf", len(x)))
	default:
		vec.ReadLE(x, data)
	}
}

// Vector visits a vector that is nil until its first use, and n long afterwards.
func (v *Visit) Vector(name string, x *[]float32, n int) {
	if v.Loading() {
		*x = nil
		if at, ok := v.at[v.name(name)]; !ok || len(v.snapshot.Tensors[at].Data) > 0 {
			*x = make([]float32, n)
		}
	}
	v.Floats(name, *x)
}

// Doubles visits finite numbers whose count never changes.
func (v *Visit) Doubles(name string, x []float64) {
	if !v.loading {
		t := v.save(name, "F64")
		for _, f := range x {
			t.Data = binary.LittleEndian.AppendUint64(t.Data, math.Float64bits(f))
		}
		return
	}
	data, ok := v.load(name, "F64")
	if ok && len(data) != 8*len(x) {
		v.Fail(name, fmt.Errorf("%d numbers, want %d", len(data)/8, len(x)))
		return
	}
	for i := 0; ok && i < len(x); i++ {
		f := math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			v.Fail(name, fmt.Errorf("number %d is %v", i, f))
			return
		}
		x[i] = f
	}
}

// Double visits a finite number.
func (v *Visit) Double(name string, x *float64) {
	one := [1]float64{*x}
	v.Doubles(name, one[:])
	if v.Loading() {
		*x = one[0]
	}
}

// List visits up to most finite numbers.
func (v *Visit) List(name string, x *[]float64, most int) {
	if v.Loading() {
		n := 0
		if at, ok := v.at[v.name(name)]; ok {
			n = len(v.snapshot.Tensors[at].Data) / 8
		}
		if n > most {
			v.Fail(name, fmt.Errorf("%d numbers, want at most %d", n, most))
			return
		}
		*x = slices.Grow((*x)[:0], n)[:n]
	}
	v.Doubles(name, *x)
}

// Bytes visits any number of bytes, and gives them new memory.
func (v *Visit) Bytes(name string, x *[]byte) {
	if !v.loading {
		t := v.save(name, "U8")
		t.Data = append(t.Data, *x...)
		return
	}
	if data, ok := v.load(name, "U8"); ok {
		*x = append((*x)[:0], data...)
	}
}

// Counts visits integers whose count never changes.
func (v *Visit) Counts(name string, x []uint32) {
	if !v.loading {
		t := v.save(name, "U32")
		for _, n := range x {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, n)
		}
		return
	}
	data, ok := v.load(name, "U32")
	if ok && len(data) != 4*len(x) {
		v.Fail(name, fmt.Errorf("%d numbers, want %d", len(data)/4, len(x)))
		return
	}
	for i := 0; ok && i < len(x); i++ {
		x[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
}

// Bool visits a boolean.
func (v *Visit) Bool(name string, x *bool) {
	n := 0
	if *x {
		n = 1
	}
	Int(v, name, &n, 0, 1)
	*x = n == 1
}

// Int visits a whole number from low to high.
func Int[T ~int | ~int64 | ~uint8 | ~uint32 | ~uint64](v *Visit, name string, x *T, low, high T) {
	if !v.loading {
		t := v.save(name, "I64")
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(*x))
		return
	}
	data, ok := v.load(name, "I64")
	if !ok {
		return
	}
	if len(data) != 8 {
		v.Fail(name, fmt.Errorf("%d bytes, want one number", len(data)))
		return
	}
	word := binary.LittleEndian.Uint64(data)
	n := T(word)
	if uint64(n) != word || n < low || n > high {
		v.Fail(name, fmt.Errorf("%d: want %d to %d", int64(word), low, high))
		return
	}
	*x = n
}

// name returns the full name of a tensor of the visited part.
func (v *Visit) name(last string) string { return string(v.path) + "/" + last }

// save appends a tensor. Usually the last Save has left a tensor of that name in its place.
func (v *Visit) save(name, kind string) *Tensor {
	t := v.snapshot.next(kind)
	above, found := strings.CutSuffix(t.Name, name)
	if !found || len(above) != len(v.path)+1 || above[:len(v.path)] != string(v.path) || above[len(v.path)] != '/' {
		t.Name = v.name(name)
	}
	return t
}

// load returns the data of a tensor, which must exist.
func (v *Visit) load(name, kind string) (data []byte, ok bool) {
	if v.err != nil {
		return nil, false
	}
	at, ok := v.at[v.name(name)]
	switch {
	case !ok:
		v.Fail(name, errors.New("missing"))
	case v.snapshot.Tensors[at].Type != kind:
		v.Fail(name, fmt.Errorf("of type %q, want %q", v.snapshot.Tensors[at].Type, kind))
	default:
		delete(v.at, v.name(name))
		return v.snapshot.Tensors[at].Data, true
	}
	return nil, false
}

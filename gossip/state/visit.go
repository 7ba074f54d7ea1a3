package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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

// Has reports whether a tensor is there to replace the state with.
func (v *Visit) Has(name string) bool {
	_, there := v.at[v.name(name)]
	return v.Loading() && there
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
		if v.snapshot.shares {
			t.Data = vec.LE(x)
			return
		}
		t.Data = vec.AppendLE(t.Data, x)
		return
	}
	t, ok := v.load(name, "F32")
	switch {
	case !ok:
	case t.len() != 4*len(x):
		v.Fail(name, fmt.Errorf("%d floats, want %d", t.len()/4, len(x)))
	case t.Stored != nil:
		v.fetch(name, x, t.Stored)
	case !(vec.MaxAbsLE(t.Data) <= math.MaxFloat32):
		v.Fail(name, notFinite(x))
	default:
		vec.ReadLE(x, t.Data)
	}
}

func notFinite(x []float32) error { return fmt.Errorf("%d floats hold NaN or Inf", len(x)) }

// chunk is how many floats are fetched at a time.
const chunk = 1 << 16

// fetch reads stored floats into x.
func (v *Visit) fetch(name string, x []float32, from *io.SectionReader) {
	data := make([]byte, 4*min(chunk, len(x)))
	for at := 0; at < len(x); at += chunk {
		part := x[at:min(at+chunk, len(x))]
		if _, err := from.ReadAt(data[:4*len(part)], int64(4*at)); err != nil {
			v.Fail(name, err)
			return
		}
		if !(vec.MaxAbsLE(data[:4*len(part)]) <= math.MaxFloat32) {
			v.Fail(name, notFinite(x))
			return
		}
		vec.ReadLE(part, data)
	}
}

// Vector visits a vector that is nil until its first use, and n long afterwards.
func (v *Visit) Vector(name string, x *[]float32, n int) {
	if v.Loading() {
		*x = nil
		if at, ok := v.at[v.name(name)]; !ok || v.snapshot.Tensors[at].len() > 0 {
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
	data, ok := v.bytes(name, "F64")
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
		if v.snapshot.shares {
			t.Data = *x
			return
		}
		t.Data = append(t.Data, *x...)
		return
	}
	if data, ok := v.bytes(name, "U8"); ok {
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
	data, ok := v.bytes(name, "U32")
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
	data, ok := v.bytes(name, "I64")
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

// Items visits a list whose length changes.
func Items[T any](v *Visit, name string, list *[]T, visit func(name string, item *T)) {
	n := len(*list)
	Int(v, name, &n, 0, math.MaxInt32)
	if v.Loading() {
		*list = (*list)[:0]
	}
	for i := range n {
		if v.err != nil {
			return
		}
		if i == len(*list) {
			*list = slices.Grow(*list, 1)[:i+1]
			clear((*list)[i:])
		}
		visit(name+strconv.Itoa(i), &(*list)[i])
	}
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

// bytes returns the data of a tensor in memory, which must exist.
func (v *Visit) bytes(name, kind string) (data []byte, ok bool) {
	t, ok := v.load(name, kind)
	if !ok {
		return nil, false
	}
	return t.Data, true
}

// load returns a tensor, which must exist.
func (v *Visit) load(name, kind string) (t *Tensor, ok bool) {
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
		return &v.snapshot.Tensors[at], true
	}
	return nil, false
}

package safetensors

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A header that is read describes a file of that size, and can be written and read
// again.
func FuzzHeader(f *testing.F) {
	good, err := Header{
		Tensors:  []Tensor{{"a", "F64", []int{2, 1}}, {"b", "U16", []int{}}, {"none", "U8", []int{3, 0}}},
		Metadata: map[string]string{"round": "7"},
	}.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, uint16(18))
	f.Add(append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, "{}"...), uint16(0))
	f.Add(append([]byte{65, 0, 0, 0, 0, 0, 0, 0},
		`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`...), uint16(0))
	f.Fuzz(func(t *testing.T, text []byte, body uint16) {
		size := int64(len(text)) + int64(body)
		h, err := Read(bytes.NewReader(text), size)
		if err != nil {
			return
		}
		again, err := h.Append(nil)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := Read(bytes.NewReader(again), int64(len(again)+h.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		// one without data may stand anywhere among its neighbours
		byName := cmpopts.SortSlices(func(a, b Tensor) bool { return a.Name < b.Name })
		if diff := cmp.Diff(h, back, byName, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

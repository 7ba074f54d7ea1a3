package safetensors

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeadersReturn(t *testing.T) {
	want := Header{
		Tensors: []Tensor{
			{"double", "F64", []int{2}}, {"count", "I64", []int{}}, {"float", "F32", []int{1, 3}}, {"words", "U32", []int{1}},
			{"none", "F32", []int{0}}, {"bytes", "U8", []int{5}},
		},
		Metadata: map[string]string{"round": "7"},
	}
	text, err := want.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(text)%8 != 0 || want.Bytes() != 45 {
		t.Errorf("a header of %d bytes for %d, want a multiple of 8 for 45", len(text), want.Bytes())
	}
	got, err := Read(bytes.NewReader(text), int64(len(text)+want.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	// An empty tensor may come before or after its neighbours: it has no data.
	byName := func(h Header) map[string]Tensor {
		all := map[string]Tensor{}
		for _, tensor := range h.Tensors {
			all[tensor.Name] = tensor
		}
		return all
	}
	if diff := cmp.Diff(byName(want), byName(got)); diff != "" || !cmp.Equal(want.Metadata, got.Metadata) {
		t.Error(diff)
	}
}

func TestHeadersThatCannotBe(t *testing.T) {
	for want, tensors := range map[string][]Tensor{
		"used twice":    {{"a", "U8", nil}, {"a", "U8", nil}},
		"reserved":      {{"__metadata__", "U8", nil}},
		"not supported": {{"a", "F33", nil}},
	} {
		if _, err := (Header{Tensors: tensors}).Append(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

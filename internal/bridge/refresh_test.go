package bridge

import (
	"encoding/binary"
	"strings"
	"testing"
)

func refresh(outline string, values int) []byte {
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(outline)))
	return append(append(raw, outline...), make([]byte, values)...)
}

func TestReadRefresh(t *testing.T) {
	const one = `{"tensors":[{"name":"w","shape":[2],"dtype":"float32"}],"elements":2,"exact":0}`
	o, fresh, err := ReadRefresh(refresh(one, 8))
	if err != nil || o.Elements != 2 || len(fresh) != 8 {
		t.Fatalf("%+v with %d bytes, error %v", o, len(fresh), err)
	}
	for want, raw := range map[string][]byte{
		"refresh of 3 bytes":      {1, 2, 3},
		"without an outline":      {255, 255, 255, 255, 1},
		"values of 3 bytes":       refresh(one, 3),
		"unknown field":           refresh(`{"more":1}`, 0),
		"0 elements: want 1 to":   refresh(`{}`, 0),
		"the vector 3":            refresh(strings.Replace(one, `"elements":2`, `"elements":3`, 1), 0),
		"COLLECT: unexpected EOF": refresh(`{"tensors":`, 0),
	} {
		if _, _, err := ReadRefresh(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", raw, err, want)
		}
	}
}

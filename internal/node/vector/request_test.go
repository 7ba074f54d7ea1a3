package vector

import (
	"bytes"
	"testing"
)

func FuzzRequest(f *testing.F) {
	f.Add(whole(key{tag: "start"}, 10).append(nil))
	f.Add(request{key: key{tagMean, 3}, elements: 10, from: 4, count: 6}.append(nil))
	f.Add(bytes.Repeat([]byte{255}, requestMax))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseRequest(b)
		if !ok {
			return
		}
		if r.from > r.elements || r.from+r.count > r.elements || r.elements > maxElements || r.tag == "" {
			t.Errorf("%+v is accepted", r)
		}
		if again := r.append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x becomes %x", b, again)
		}
	})
}

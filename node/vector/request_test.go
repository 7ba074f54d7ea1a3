package vector

import (
	"bytes"
	"testing"
)

func FuzzRequest(f *testing.F) {
	f.Add(whole(key{tag: "start"}, 10).Append(nil))
	f.Add(Request{Tag: tagMean, Call: 3, Elements: 10, From: 4, Count: 6}.Append(nil))
	f.Add(bytes.Repeat([]byte{255}, requestMax))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := ParseRequest(b)
		if !ok {
			return
		}
		if r.From > r.Elements || r.From+r.Count > r.Elements || r.Elements > maxElements || r.Tag == "" {
			t.Errorf("%+v is accepted", r)
		}
		if again := r.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x becomes %x", b, again)
		}
	})
}

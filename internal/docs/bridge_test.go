package docs

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/vec"
)

// loss is what a LOG says in the document.
var loss = bridge.Values{Values: map[string]*float64{"loss": new(0.5)}}

var bridges = map[string]decoder{
	"hello": toScript(bridge.Header{Kind: bridge.KindHello}, bridge.Hello{Version: bridge.Version, Client: "minimal.py",
		Memory: bridge.Memfd, Outline: bridge.Outline{Elements: 2,
			Tensors: []bridge.Tensor{{Name: "w", Shape: []int{2}, Dtype: "float32"}}}}),
	"welcome": toScript(bridge.Header{Kind: bridge.KindWelcome}, bridge.Welcome{Version: bridge.Version, Run: "quadratic",
		Rank: 1, Size: 2, Rounds: 60, Seed: 7, Checkpoints: true}),
	"go":    toScript(bridge.Header{Kind: bridge.KindGo, Flags: bridge.FlagState, Round: 3}, nil),
	"log":   toScript(bridge.Header{Kind: bridge.KindLog, Round: 3}, loss),
	"step":  toScript(bridge.Header{Kind: bridge.KindStep, Round: 3}, nil),
	"frame": toScript(bridge.Header{Kind: bridge.KindStep, Round: 3}, []float32{1, -2.5}),
	"end":   toScript(bridge.Header{Kind: bridge.KindEnd, Round: 60}, bridge.End{Why: bridge.Finished}),
}

// toScript returns the decoder of a message between peer and script: its body is a vector, the JSON of a value, or
// nothing.
func toScript(want bridge.Header, content any) decoder {
	return func(t *testing.T, d document, name string) {
		text := d.bytes(t, name)
		h, err := bridge.ParseHeader(text)
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		switch content := content.(type) {
		case nil:
		case []float32:
			body = vec.AppendLE(nil, content)
		default:
			if body, err = json.Marshal(content); err != nil {
				t.Fatal(err)
			}
		}
		want.Length = uint64(len(body))
		equal(t, "header", h, want)
		made := make([]byte, bridge.HeaderLen)
		want.Put(made)
		same(t, "message", append(made, body...), text)
	}
}

// The document and the message table of the code have the same kinds.
func TestKindsOfTheBridgeAreThoseOfTheCode(t *testing.T) {
	got := table(t, "format/bridge.md", "| kind | name | from | round | body |")
	for i, row := range got {
		kind := bridge.Kind(i + 1)
		if row[0] != strconv.Itoa(int(kind)) || row[1] != kind.String() {
			t.Errorf("row %d is %v, the code has %d %v", i, row[:2], kind, kind)
		}
	}
	if next := bridge.Kind(len(got) + 1); next.Valid() {
		t.Errorf("the document ends before kind %v", next)
	}
}

func TestMessagesWithBodiesAreMadeWhole(t *testing.T) {
	d := read(t, "bridge.md")
	made, err := bridge.AppendMessage(nil, bridge.KindLog, 3, loss)
	if err != nil || !bytes.Equal(made, d.bytes(t, "log")) {
		t.Errorf("message %x, error %v", made, err)
	}
}

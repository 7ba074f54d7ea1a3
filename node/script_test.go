package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gossiptrainer/node/handshake"
)

// Two workers with different scripts end, and each says which parameters the other one has.
func TestAnotherScriptIsToldAtBothEnds(t *testing.T) {
	shapes := []string{"[10 784]", "[10 785]"}
	c := both(t, func(rank int, o *Options) {
		text := fmt.Sprintf(`{"elements":%d,"hash":"%d%064d","list":["fc.weight %s"],"tensors":1}`,
			7840+rank, rank, 0, shapes[rank])
		o.Sections = append(o.Sections, Section{Name: "script", JSON: []byte(text)})
	})
	_, errs := c.run(t, t.Context(), task{n: 2, dim: 100, rounds: 3})
	for rank, err := range errs {
		want := fmt.Sprintf("its script has other parameters: 1 tensor, %d elements, hash %d00000000000; "+
			"here 1 tensor, %d elements, hash %d00000000000; the first difference is tensor 1, "+
			"fc.weight %s there and fc.weight %s here", 7841-rank, 1-rank, 7840+rank, rank, shapes[1-rank], shapes[rank])
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("worker %d: error %v\nwant %s", rank, err, want)
		}
		unwanted, ok := errors.AsType[*handshake.UnwantedError](err)
		if !ok || unwanted.Hint() != "start the same script on every machine" {
			t.Errorf("worker %d: advice of %v", rank, err)
		}
	}
}

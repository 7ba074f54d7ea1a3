package build

import (
	"strings"
	"testing"
)

// Full precision uses no codec, so a report cites none.
func TestFullPrecisionCitesNoCodec(t *testing.T) {
	for bits, want := range map[string]bool{"8": true, "32": false} {
		d := assemble(t, "algorithm.bits="+bits).Describe()
		if got := strings.Contains(d.Paper, "moniqua"); got != want {
			t.Errorf("%s bits: %q", bits, d.Paper)
		}
	}
}

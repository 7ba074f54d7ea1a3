package kernel

import (
	"os"
	"strings"
	"testing"
)

func TestTheVariableChoosesATier(t *testing.T) {
	for _, c := range []struct {
		name string
		best Tier
		want Tier
		err  string
	}{
		{"", AVX512, AVX512, ""},
		{"", Off, Off, ""},
		{"avx512", AVX512, AVX512, ""},
		{"avx2", AVX512, AVX2, ""},
		{"off", AVX512, Off, ""},
		{"avx512", AVX2, Off, "has only avx2: unset it"},
		{"sse", AVX512, Off, "want one of off, avx2, avx512"},
		{"OFF", AVX512, Off, "want one of"},
	} {
		got := choose(c.name, c.best)
		if got.tier != c.want || (got.err != nil) != (c.err != "") || got.err != nil &&
			!strings.Contains(got.err.Error(), c.err) {
			t.Errorf("%q with %v: %v, %v; want %v, %q", c.name, c.best, got.tier, got.err, c.want, c.err)
		}
	}
}

func TestTheBestTierIsAvailable(t *testing.T) {
	available := Available()
	if available[0] != Off || available[len(available)-1] != machine() {
		t.Errorf("available: %v on a machine with %v", available, machine())
	}
	if want := choose(os.Getenv(Variable), machine()); Best() != want.tier || (Check() == nil) != (want.err == nil) {
		t.Errorf("best: %v, %v; want %v", Best(), Check(), want)
	}
}

func TestTiersHaveNames(t *testing.T) {
	for tier, want := range map[Tier]string{Off: "off", AVX2: "avx2", AVX512: "avx512", 7: "Tier(7)"} {
		if got := tier.String(); got != want {
			t.Errorf("%d: %q, want %q", tier, got, want)
		}
	}
}

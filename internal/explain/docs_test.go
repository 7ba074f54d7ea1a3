package explain

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gossiptrainer/internal/human"
)

// The table of docs/explain.md has every kind, in order, and the thresholds of the code.
func TestTheTableOfKindsIsThatOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	times := func(v float64) string { return fmt.Sprintf("%g times", v) }
	thresholds := map[Kind][]string{
		LossRises:     {times(risen), human.Percent(undone)},
		ThetaViolated: {human.Percent(wrong), human.Percent(many)},
		Straggler:     {human.Percent(awaited), human.Percent(costly)},
		LinkLimit:     {human.Percent(limited)},
		CodecBound:    {human.Percent(coding)},
		CPUShared:     {human.Percent(deprived)},
		Beside:        {human.Percent(beside)},
		Repairs:       {human.Percent(extra)},
		GapGrows:      {times(grown)},
		NearTheta:     {human.Percent(often), human.Percent(near)},
		LossFlat:      {human.Percent(still)},
		BitsAtBound:   {human.Percent(steady)},
		EntropyIdle:   {human.Percent(little)},
		FewSamples:    {map[float64]string{0.25: "a quarter"}[few]},
		NetworkBound:  {human.Percent(idle), human.Percent(idle / 2)},
		ComputeBound:  {human.Percent(busy), human.Percent(costly)},
	}
	var found []Kind
	for line := range strings.Lines(string(text)) {
		name, row, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "` |")
		if row == "" || !strings.HasPrefix(line, "| `") {
			continue
		}
		kind := Kind(name)
		found = append(found, kind)
		for _, want := range thresholds[kind] {
			if want == "" || !strings.Contains(row, want) {
				t.Errorf("the row of %s lacks %q: %s", kind, want, row)
			}
		}
	}
	for i, kind := range kinds() {
		if i >= len(found) || found[i] != kind {
			t.Fatalf("the rows are %q, want %q", found, kinds())
		}
	}
	if len(found) != len(kinds()) {
		t.Errorf("the rows are %q, want %q", found, kinds())
	}
}

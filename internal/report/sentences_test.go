package report

import (
	"testing"

	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
)

// The end of a run says what its user can act upon: a run of seconds need not be faster.
func TestABriefRunNeedNotBeFaster(t *testing.T) {
	all := []explain.Sentence{
		{Kind: explain.Straggler, Severity: explain.Problem}, {Kind: explain.Beside, Severity: explain.Warning},
		{Kind: explain.CPUShared, Severity: explain.Warning}, {Kind: explain.FewSamples, Severity: explain.Warning},
		{Kind: explain.TimeSplit, Severity: explain.Note},
	}
	for seconds, want := range map[float64]int{1.7: 2, 9.9: 2, 10: 4, 3600: 4} {
		told := Explained{&record.Summary{Time: seconds}, all}.Urgent().Sentences
		if len(told) != want {
			t.Errorf("%v s: %v, want %d sentences", seconds, told, want)
		}
	}
}

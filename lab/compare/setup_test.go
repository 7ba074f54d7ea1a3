package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A report shows the values in which runs differ, and those that are not the defaults. A key that only some runs have
// is no difference while its value is the default.
func TestSettingsThatAReportShows(t *testing.T) {
	full := map[string]string{"algorithm.bits": "32", "train.rounds": "60", "data.partition": "iid"}
	moniqua := map[string]string{"algorithm.bits": "8", "train.rounds": "60", "data.partition": "iid",
		"algorithm.codec": "moniqua", "algorithm.theta.rule": "fixed"}
	shared := common([]map[string]string{full, moniqua})
	for name, test := range map[string]struct{ got, want map[string]string }{
		"all":            {shared, map[string]string{"train.rounds": "60"}},
		"full precision": {full, map[string]string{"algorithm.bits": "32"}},
		"moniqua":        {moniqua, map[string]string{"algorithm.bits": "8", "algorithm.theta.rule": "fixed"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

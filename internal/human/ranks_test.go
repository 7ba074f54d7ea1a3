package human

import "testing"

func TestRanks(t *testing.T) {
	for _, test := range []struct {
		ranks []int
		more  int
		want  string
	}{
		{nil, 0, "no worker"},
		{[]int{3}, 0, "worker 3"},
		{[]int{3}, 2, "workers 3 and 2 more"},
		{[]int{1, 2}, 0, "workers 1 and 2"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, 0, "workers 0, 1, 2, 3, 4, 5, 6 and 7"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 5, "workers 0, 1, 2, 3, 4, 5, 6, 7 and 6 more"},
	} {
		if got := Ranks("worker", test.ranks, test.more); got != test.want {
			t.Errorf("%v and %d more: %q, want %q", test.ranks, test.more, got, test.want)
		}
	}
}

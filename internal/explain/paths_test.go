package explain

import (
	"testing"

	"gossiptrainer/internal/record"
)

// measuredPath is the account of worker 1 of its edge with worker 2, which has two networks.
func measuredPath(gone bool) *run {
	fast := record.Way{Address: "10.2.0.2", Rate: 9.41e8, Gone: gone}
	slow := record.Way{Address: "10.1.0.2", Rate: 9697804}
	p := &record.Path{Way: fast, Interface: "eth1", Others: []record.Way{slow}, Measuring: 4000}
	if gone {
		p = &record.Path{Way: slow, Interface: "eth0", Others: []record.Way{fast}, Measuring: 4000}
	}
	return healthy().accounts(func(l *record.Links) {
		switch l.Rank {
		case 1:
			toward(l, 2, func(link *record.Link) { link.Path = p })
		case 2: // this end was told
			told := *p
			told.Measuring = 0
			toward(l, 1, func(link *record.Link) { link.Path = &told })
		}
	})
}

func TestThePathOfALinkIsTold(t *testing.T) {
	for _, test := range []struct {
		gone     bool
		severity Severity
		want     string
	}{
		{false, Note, "worker 1 reaches worker 2 over 10.2.0.2 (eth1), 940 Mbit/s; 10.1.0.2 was 9.7 Mbit/s"},
		{true, Warning, "worker 1 reaches worker 2 over 10.1.0.2 (eth0), 9.7 Mbit/s; 10.2.0.2 was 940 Mbit/s and does " +
			"not answer"},
	} {
		got := said(measuredPath(test.gone).of(), Paths)
		if len(got) != 1 || got[0].Text != test.want || got[0].Severity != test.severity || *got[0].Edge != [2]int{1, 2} {
			t.Errorf("a faster one is gone: %t: %+v, want %q once", test.gone, got, test.want)
		}
	}
}

// A run with many such links does not fill the screen.
func TestManyPathsAreToldTogether(t *testing.T) {
	slow := record.Way{Address: "10.1.0.2", Rate: 1e7}
	p := &record.Path{Way: record.Way{Address: "10.2.0.2", Rate: 1e9}, Others: []record.Way{slow}}
	got := said(healthy().accounts(func(l *record.Links) {
		for i := range l.Links {
			l.Links[i].Path = p
		}
	}).of(), Paths)
	if len(got) != 1 || got[0].Text != "6 links use the fastest of several networks: peer dash shows each" {
		t.Errorf("%+v", got)
	}
}

package record

import (
	"testing"
	"time"
)

func TestPartsAreMeansOverRounds(t *testing.T) {
	var p PartsSum
	p.See(Step{Compute: 3 * time.Second, Wait: time.Second, Codec: 500 * time.Millisecond})
	if got := p.Mean(); got != nil {
		t.Errorf("a built-in model has the parts %+v", got)
	}
	p.See(Step{Compute: time.Second, Codec: 500 * time.Millisecond, HandOver: 500 * time.Millisecond})
	if got, want := *p.Mean(), (Parts{Compute: 2, Wait: 0.5, Codec: 0.5, HandOver: 0.25}); got != want {
		t.Errorf("parts %+v, want %+v", got, want)
	}
}

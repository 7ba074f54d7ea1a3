package quant

import (
	"math"
	"testing"
)

func TestLayoutsHaveTheLengthOfPayloads(t *testing.T) {
	sign, _ := NewSign(7)
	minmax, _ := NewMinMax(3, 10, Nearest, 1)
	qsgd, _ := NewQSGD(4, 0, LInf, 1)
	top, _ := NewTopK(2)
	random, _ := NewRandomK(3, AsIs, 1)
	linear, _ := NewLinear(0.1, Nearest, 1)
	for _, c := range []Compressor{Full{}, sign, minmax, qsgd, top, random, linear} {
		for _, d := range []int{3, 10, 20, 41} {
			payload, err := c.Compress(nil, 1, make([]float32, d))
			if err != nil {
				t.Fatalf("%T of %d: %v", c, d, err)
			}
			l := c.Layout(d)
			if err := l.Check(); err != nil || l.Len() != len(payload) {
				t.Errorf("%T of %d: layout %+v of %d bytes (%v), the payload has %d", c, d, l, l.Len(), err, len(payload))
			}
		}
	}
}

func TestLayoutsThatAreNoneAreRefused(t *testing.T) {
	good := Layout{Levels: 3, Count: 100, Bucket: 30, Head: 4, Tail: 8}
	if err := good.Check(); err != nil || good.Buckets() != 4 || good.Len() != 4*4+3*(6)+2+8 {
		t.Fatalf("%+v: %d buckets, %d bytes, %v", good, good.Buckets(), good.Len(), err)
	}
	for name, change := range map[string]func(l *Layout){
		"one level":            func(l *Layout) { l.Levels = 1 },
		"too many levels":      func(l *Layout) { l.Levels = MaxLevels + 1 },
		"symbols and words":    func(l *Layout) { l.Word = 4 },
		"neither":              func(l *Layout) { l.Levels = 0 },
		"long words":           func(l *Layout) { l.Levels, l.Word = 0, 9 },
		"negative count":       func(l *Layout) { l.Count = -1 },
		"negative bucket":      func(l *Layout) { l.Bucket = -1 },
		"negative head":        func(l *Layout) { l.Head = -1 },
		"a tail beyond 16 bit": func(l *Layout) { l.Tail = math.MaxUint16 + 1 },
	} {
		bad := good
		change(&bad)
		if bad.Check() == nil {
			t.Errorf("%s: %+v is accepted", name, bad)
		}
	}
	if empty := (Layout{}); empty.Check() != nil || empty.Len() != 0 || empty.Buckets() != 0 {
		t.Errorf("the zero layout: %v, %d bytes, %d buckets", empty.Check(), empty.Len(), empty.Buckets())
	}
}

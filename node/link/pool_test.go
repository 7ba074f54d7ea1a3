package link

import "testing"

func TestAPoolReturnsBuffersOfFittingSize(t *testing.T) {
	p := pool{room: 1 << 20}
	for _, n := range []int{1000, 5000, 600, 60_000} {
		p.Put(make([]byte, n))
	}
	for _, test := range []struct{ n, want int }{
		{0, 0},
		{700, 1000},
		{590, 600},
		{4500, 5000},
		{10, 10},         // all that fit are far too long
		{10_000, 60_000}, // the next class but one
		{60_000, 60_000}, // none is left
		{1 << 20, 1 << 20},
	} {
		if b := p.Get(test.n); len(b) != test.n || cap(b) < test.want || cap(b) > 2*test.want {
			t.Errorf("%d bytes: a buffer of %d of %d, want %d", test.n, len(b), cap(b), test.want)
		}
	}
	if p.held != 0 {
		t.Errorf("%d bytes are held, want none", p.held)
	}
}

func TestAPoolIsBoundedInBytes(t *testing.T) {
	p := pool{room: 10_000}
	for range 20 {
		p.Put(make([]byte, 3000))
	}
	if p.held != 9000 {
		t.Errorf("%d bytes are held, want three buffers", p.held)
	}
	p.Get(3000)
	p.Put(make([]byte, 4000))
	if p.held != 10_000 {
		t.Errorf("%d bytes are held, want that they fill up", p.held)
	}
	if got := testing.AllocsPerRun(100, func() { p.Put(p.Get(3000)) }); got != 0 {
		t.Errorf("%v allocations for a buffer that is there", got)
	}
}

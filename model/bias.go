package model

// A bias is y = x + b, one b per channel, in place: db = Σ dy over all pixels.
type bias struct {
	at    node
	param Param
}

func (b *builder) bias(name string, at node) node {
	b.layers = append(b.layers, bias{at, b.param(name+".bias", zeros, at.value.c)})
	return at
}

func (l bias) forward(x []float32, n int, _ mode) {
	t, add := l.at.value, l.param.of(x)
	for i := range n * t.h {
		row := t.row(i/t.h, i%t.h)
		for ; len(row) > 0; row = row[t.c:] {
			for c, v := range add {
				row[c] += v
			}
		}
	}
}

func (l bias) backward(g, _ []float32, n int) {
	t, sum := l.at.grad, l.param.of(g)
	clear(sum)
	for i := range n * t.h {
		row := t.row(i/t.h, i%t.h)
		for ; len(row) > 0; row = row[t.c:] {
			for c := range sum {
				sum[c] += row[c]
			}
		}
	}
}

package model

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// A Form says how files hold a model: its tensors in the order of a file, with the names and the layout of a
// torch.nn.Module. It has the parameters and the running statistics of batch normalization. docs/models.md has the
// modules.
//
// A file's vector has the tensors one after another, each row-major. The flat vector of an Objective has another order.
type Form []Tensor

// A Tensor is a parameter or a running statistic as files hold it.
type Tensor struct {
	Name  string
	Shape []int // convolutions [out][in][ky][kx], dense layers [out][in], where in counts channels, rows, columns

	part      Param // in the flat vector, or in the statistics
	statistic bool
	axes      []axis
}

// An axis of a tensor in a file, the outermost first: its length, and the distance of neighbours in memory.
type axis struct{ length, stride int }

// PlainForm is the form of a model whose flat vector already has the order of a file.
func PlainForm(layout []Param) Form {
	f := make(Form, len(layout))
	for i, p := range layout {
		f[i] = inOrder(p.Name, p)
	}
	return f
}

// inOrder is a tensor that files hold as memory does.
func inOrder(name string, p Param) Tensor {
	return Tensor{Name: name, Shape: p.Shape, part: p, axes: []axis{{p.Len(), 1}}}
}

// convTensor is a kernel [ky][kx][in][out].
func convTensor(p Param) Tensor {
	ky, kx, in, out := p.Shape[0], p.Shape[1], p.Shape[2], p.Shape[3]
	return Tensor{Name: p.Name, Shape: []int{out, in, ky, kx}, part: p,
		axes: []axis{{out, 1}, {in, out}, {ky, kx * in * out}, {kx, in * out}}}
}

// denseTensor is a matrix [in][out] whose inputs are images of those dims.
func denseTensor(p Param, in dims) Tensor {
	out := p.Shape[1]
	return Tensor{Name: p.Name, Shape: []int{out, p.Shape[0]}, part: p,
		axes: []axis{{out, 1}, {in.c, out}, {in.h, in.w * in.c * out}, {in.w, in.c * out}}}
}

// Layout lists the tensors as views of a file's vector.
func (f Form) Layout() []Param {
	layout, end := make([]Param, len(f)), 0
	for i, t := range f {
		layout[i] = Param{Name: t.Name, Off: end, Shape: slices.Clone(t.Shape)}
		end += t.part.Len()
	}
	return layout
}

// Sizes returns how many parameters and how many running statistics there are.
func (f Form) Sizes() (parameters, statistics int) {
	for _, t := range f {
		if t.statistic {
			statistics += t.part.Len()
		} else {
			parameters += t.part.Len()
		}
	}
	return parameters, statistics
}

// Parts returns the file's vector of a model in parts, which share memory: the flat vector x and the running
// statistics,
// see Carrier. The sequence panics if their lengths are not those of Sizes.
func (f Form) Parts(x, statistics []float32) iter.Seq[[]float32] {
	return func(yield func([]float32) bool) {
		f.check(x, statistics)
		part, more := make([]float32, 0, 1<<12), true
		for _, t := range f {
			from := t.of(x, statistics)
			t.each(func(at int) {
				if part = append(part, from[at]); len(part) == cap(part) {
					more = more && yield(part)
					part = part[:0]
				}
			})
		}
		if more && len(part) > 0 {
			yield(part)
		}
	}
}

// Parameters returns the form without the running statistics.
func (f Form) Parameters() Form {
	return slices.DeleteFunc(slices.Clone(f), func(t Tensor) bool { return t.statistic })
}

// Statistics returns the form of the running statistics alone.
func (f Form) Statistics() Form {
	return slices.DeleteFunc(slices.Clone(f), func(t Tensor) bool { return !t.statistic })
}

// Collect returns the flat vector of a model without running statistics, from the parts of a file's vector, which may
// share memory. It fails if there are fewer numbers than parameters.
func (f Form) Collect(parts iter.Seq[[]float32]) (x []float32, err error) {
	next, stop := iter.Pull(parts)
	defer stop()
	parameters, _ := f.Sizes()
	x = make([]float32, parameters)
	var part []float32
	for _, t := range f {
		to := t.part.of(x)
		t.each(func(at int) {
			if len(part) == 0 && err == nil {
				part, _ = next()
			}
			if len(part) == 0 {
				err = fmt.Errorf("model: fewer numbers than the %d parameters of a file", parameters)
				return
			}
			to[at], part = part[0], part[1:]
		})
	}
	return x, err
}

// Import returns the flat vector and the running statistics of a file's vector y. It panics if y does not have the
// length of the layout.
func (f Form) Import(y []float32) (x, statistics []float32) {
	parameters, others := f.Sizes()
	x, statistics = make([]float32, parameters), make([]float32, others)
	if f.check(x, statistics) != len(y) {
		panic(fmt.Sprintf("internal error: model: %d numbers of a file, want %d", len(y), parameters+others))
	}
	for _, t := range f {
		to, i := t.of(x, statistics), 0
		t.each(func(at int) {
			to[at] = y[i]
			i++
		})
		y = y[i:]
	}
	return x, statistics
}

// check returns the length of a file's vector.
func (f Form) check(x, statistics []float32) int {
	parameters, others := f.Sizes()
	if len(x) != parameters || len(statistics) != others {
		panic(fmt.Sprintf("internal error: model: %d parameters and %d statistics, want %d and %d", len(x), len(statistics),
			parameters, others))
	}
	return parameters + others
}

// of returns the tensor's part of the vector that it belongs to.
func (t Tensor) of(x, statistics []float32) []float32 {
	if t.statistic {
		return t.part.of(statistics)
	}
	return t.part.of(x)
}

// each calls visit with the index in memory of every element, in the order of a file.
func (t Tensor) each(visit func(at int)) { walk(t.axes, 0, visit) }

func walk(axes []axis, at int, visit func(at int)) {
	a := axes[0]
	for range a.length {
		if len(axes) == 1 {
			visit(at)
		} else {
			walk(axes[1:], at, visit)
		}
		at += a.stride
	}
}

// A Carrier is an objective that evaluates models with running statistics beside the parameters: means and variances
// of batch normalization, one after another in the order of the layers.
type Carrier interface {
	// Statistics returns a copy of them; empty: the model has none.
	Statistics() []float32
	// SetStatistics replaces them. It fails if their number is wrong, or if one is no mean or no variance.
	SetStatistics(s []float32) error
}

var _ Carrier = (*net)(nil)

// Statistics returns the running statistics.
func (n *net) Statistics() []float32 {
	var s []float32
	for _, l := range normalizations(n.layers) {
		s = appendFloats(appendFloats(s, l.runMean), l.runVar)
	}
	return s
}

// SetStatistics replaces the running statistics.
func (n *net) SetStatistics(s []float32) error {
	layers, count := normalizations(n.layers), 0
	for _, l := range layers {
		count += len(l.runMean) + len(l.runVar)
	}
	if len(s) != count {
		return fmt.Errorf("model: %d running statistics, want %d", len(s), count)
	}
	for _, l := range layers {
		means, variances := s[:len(l.runMean)], s[len(l.runMean):][:len(l.runVar)]
		s = s[len(means)+len(variances):]
		for c := range means {
			mean, variance := float64(means[c]), float64(variances[c])
			if math.IsNaN(mean) || math.IsInf(mean, 0) || !(variance >= 0) || math.IsInf(variance, 0) {
				return fmt.Errorf("model: %s: channel %d: a running mean of %v and a running variance of %v",
					l.gamma.Name, c, mean, variance)
			}
			l.runMean[c], l.runVar[c] = mean, variance
		}
	}
	return nil
}

// normalizations returns the layers that have running statistics, those inside blocks included.
func normalizations(layers []layer) []*batchNorm {
	var all []*batchNorm
	for _, l := range layers {
		switch l := l.(type) {
		case *batchNorm:
			all = append(all, l)
		case *residual:
			all = append(all, normalizations(l.body)...)
		}
	}
	return all
}

func appendFloats(dst []float32, src []float64) []float32 {
	for _, v := range src {
		dst = append(dst, float32(v))
	}
	return dst
}

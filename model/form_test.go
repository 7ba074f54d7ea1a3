package model

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/model/sample"
)

// formSpecs has every kind of model, the small ones.
func formSpecs() []Spec {
	grey, colour := sample.Shape{H: 12, W: 16, C: 1}, sample.Shape{H: 8, W: 12, C: 3}
	return []Spec{
		{Name: "quadratic", Dim: 7},
		{Name: "logistic", Shape: colour, Classes: 3, Batch: 4},
		{Name: "mlp", Shape: colour, Classes: 3, Batch: 4, Hidden: []int{5, 4}},
		{Name: "lenet", Shape: grey, Classes: 3, Batch: 4},
		{Name: "resnet", Shape: colour, Classes: 3, Batch: 4, Depth: 8, Norm: "group"},
		{Name: "resnet", Shape: colour, Classes: 3, Batch: 4, Depth: 14, Norm: "batch"},
	}
}

// numbered returns first, first+1, …
func numbered(n, first int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(first + i)
	}
	return x
}

func TestFormsReturnTheModel(t *testing.T) {
	for _, s := range formSpecs() {
		size, err := Measure(s)
		if err != nil {
			t.Fatal(err)
		}
		parameters, others := size.Form.Sizes()
		if parameters != size.Dim || (others > 0) != (s.Norm == "batch") {
			t.Errorf("%s: %d parameters and %d statistics, want %d parameters", s.Name, parameters, others, size.Dim)
		}
		x, statistics := numbered(parameters, 0), numbered(others, parameters)
		y := slices.Concat(collect(size.Form.Parts(x, statistics))...)
		layout := size.Form.Layout()
		if last := layout[len(layout)-1]; last.Off+last.Len() != len(y) {
			t.Errorf("%s: the layout ends at %d, the file at %d", s.Name, last.Off+last.Len(), len(y))
		}
		gotX, gotStatistics := size.Form.Import(y)
		if !slices.Equal(gotX, x) || !slices.Equal(gotStatistics, statistics) {
			t.Errorf("%s: what a file holds does not return", s.Name)
		}
		slices.Sort(y)
		if !slices.Equal(y, numbered(len(x)+others, 0)) {
			t.Errorf("%s: a file does not hold every number once", s.Name)
		}
	}
}

// Element (o, c, i, j) of a kernel in a file is element (i, j, c, o) in memory. Input (c, i, j) of a dense layer is
// input (i, j, c).
func TestFilesHaveTheOrderOfPyTorch(t *testing.T) {
	size, err := Measure(Spec{Name: "lenet", Shape: sample.Shape{H: 12, W: 16, C: 2}, Classes: 3, Batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := numbered(size.Dim, 0)
	y := slices.Concat(collect(size.Form.Parts(x, nil))...)
	files, memory := map[string]Param{}, map[string]Param{}
	for i, p := range size.Form.Layout() {
		files[p.Name], memory[p.Name] = p, size.Layout[i]
	}
	conv, dense := files["conv2.weight"], files["dense1.weight"]
	if !slices.Equal(conv.Shape, []int{16, 6, 5, 5}) || !slices.Equal(dense.Shape, []int{120, 16 * 1 * 2}) {
		t.Fatalf("shapes %v and %v", conv.Shape, dense.Shape)
	}
	for o := range 16 {
		for c := range 6 {
			for i := range 25 {
				got, want := y[conv.Off+(o*6+c)*25+i], x[memory["conv2.weight"].Off+(i*6+c)*16+o]
				if got != want {
					t.Fatalf("kernel: output %d, input %d, tap %d: %v, want %v", o, c, i, got, want)
				}
			}
		}
	}
	for o := range 120 {
		for c := range 16 {
			for i := range 2 {
				got, want := y[dense.Off+o*32+c*2+i], x[memory["dense1.weight"].Off+(i*16+c)*120+o]
				if got != want {
					t.Fatalf("dense layer: output %d, channel %d, pixel %d: %v, want %v", o, c, i, got, want)
				}
			}
		}
	}
}

func TestNamesAreThoseOfPyTorch(t *testing.T) {
	size, err := Measure(Spec{Name: "resnet", Shape: sample.Shape{H: 8, W: 8, C: 3}, Classes: 10, Batch: 1, Depth: 8,
		Norm: "batch"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range size.Form.Layout()[:8] {
		names = append(names, fmt.Sprint(p.Name, p.Shape))
	}
	const want = "conv.weight[16 3 3 3] norm.weight[16] norm.bias[16] norm.running_mean[16] norm.running_var[16] " +
		"stage1.block1.conv1.weight[16 16 3 3] stage1.block1.norm1.weight[16] stage1.block1.norm1.bias[16]"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tensors %s, want %s", got, want)
	}
}

// A model that gets the statistics of another one scores as it does.
func TestStatisticsGoFromModelToModel(t *testing.T) {
	s := Spec{Name: "resnet", Shape: sample.Shape{H: 8, W: 8, C: 1}, Classes: 3, Batch: 4, Depth: 8, Norm: "batch"}
	make2 := func() (Model, Carrier) {
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		return m, m.(Carrier)
	}
	first, from := make2()
	second, to := make2()
	batch := sample.Batch{X: make([]float32, 4*64), Y: []int32{0, 1, 2, 0}}
	for i := range batch.X {
		batch.X[i] = float32(math.Sin(float64(i * i)))
	}
	x, g := make([]float32, first.Dim()), make([]float32, first.Dim())
	first.Init(x, 1)
	before := first.Evaluate(x, batch)
	first.Gradient(g, x, batch)
	want := first.Evaluate(x, batch)
	if want == before {
		t.Fatal("a gradient moves no statistics")
	}
	if err := to.SetStatistics(from.Statistics()); err != nil {
		t.Fatal(err)
	}
	if got := second.Evaluate(x, batch); math.Abs(got.Loss-want.Loss) > 1e-5 {
		t.Errorf("loss %v, want %v", got.Loss, want.Loss)
	}
	bad := from.Statistics()
	for i, v := range map[int]float32{0: float32(math.NaN()), 16: -1} {
		wrong := slices.Clone(bad)
		wrong[i] = v
		if err := to.SetStatistics(wrong); err == nil || !strings.Contains(err.Error(), "norm.gamma") {
			t.Errorf("statistic %d = %v: error %v", i, v, err)
		}
	}
	if err := to.SetStatistics(bad[1:]); err == nil {
		t.Error("one statistic too few is accepted")
	}
}

// collect copies the parts of a vector.
func collect(parts iter.Seq[[]float32]) (all [][]float32) {
	for part := range parts {
		all = append(all, slices.Clone(part))
	}
	return all
}

package data

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/model/sample"
)

// realDir returns the folder with the published data sets, or skips the test.
func realDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PEER_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: no real data sets are read: %v (set PEER_DATA to a folder that has them)", err)
	}
	return dir
}

// nearestMean returns the test accuracy of the classifier that has one mean per
// class, on the stored values.
func nearestMean(train, test Set) float64 {
	f := train.Shape.Features()
	means := make([]float64, len(train.Classes)*f)
	count := make([]float64, len(train.Classes))
	for i := range train.Len() {
		c := train.Label(i)
		count[c]++
		for k, v := range train.bytes[i*f : (i+1)*f] {
			means[c*f+k] += float64(v)
		}
	}
	for k := range means {
		means[k] /= count[k/f]
	}
	right := 0
	for i := range test.Len() {
		best, at := math.Inf(1), 0
		for c := range count {
			mean, d := means[c*f:(c+1)*f], 0.0
			for k, v := range test.bytes[i*f : (i+1)*f] {
				d += (float64(v) - mean[k]) * (float64(v) - mean[k])
			}
			if d < best {
				best, at = d, c
			}
		}
		if at == test.Label(i) {
			right++
		}
	}
	return float64(right) / float64(test.Len())
}

// moments returns mean and standard deviation of channel c of the normalised set,
// over at most 5000 samples.
func moments(s Set, c int) (mean, std float64) {
	x := make([]float32, s.Shape.Features())
	n := min(s.Len(), 5000)
	var sum, squares, values float64
	for i := range n {
		s.Sample(x, i*7919%s.Len()) // spread over all classes
		for k := c; k < len(x); k += s.Shape.C {
			sum += float64(x[k])
			squares += float64(x[k]) * float64(x[k])
			values++
		}
	}
	mean = sum / values
	return mean, math.Sqrt(squares/values - mean*mean)
}

func histogram(y Labels) []int {
	n := make([]int, len(y.Classes))
	for _, label := range y.Of {
		n[label]++
	}
	return n
}

func TestRealImageSets(t *testing.T) {
	tests := []struct {
		name                  string
		accuracy              float64 // of nearestMean, to four digits
		firstTrain, firstTest []uint8
		trainCount, testCount []int
		standard              bool // normalised to mean 0, deviation 1
	}{
		{
			name: "fashion-mnist", accuracy: 0.6768, standard: true,
			firstTest:  []uint8{9, 2, 1, 1, 6, 1, 4, 6, 5, 7},
			trainCount: slices.Repeat([]int{6000}, 10), testCount: slices.Repeat([]int{1000}, 10),
		},
		{
			name: "cifar-10", accuracy: 0.2774, standard: true,
			firstTrain: []uint8{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}, firstTest: []uint8{3, 8, 8, 0, 6, 6, 1, 6, 3, 1},
			trainCount: slices.Repeat([]int{5000}, 10), testCount: slices.Repeat([]int{1000}, 10),
		},
		{
			name: "optdigits", accuracy: 0.8937,
			trainCount: []int{376, 389, 380, 389, 387, 376, 377, 387, 380, 382},
			testCount:  []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180},
		},
	}
	dir := realDir(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			train, test, err := Load(tt.name, dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := histogram(train.Labels()); !slices.Equal(got, tt.trainCount) {
				t.Errorf("train labels %v, want %v", got, tt.trainCount)
			}
			if got := histogram(test.Labels()); !slices.Equal(got, tt.testCount) {
				t.Errorf("test labels %v, want %v", got, tt.testCount)
			}
			if got := train.labels[:len(tt.firstTrain)]; !slices.Equal(got, tt.firstTrain) {
				t.Errorf("first train labels %v, want %v", got, tt.firstTrain)
			}
			if got := test.labels[:len(tt.firstTest)]; !slices.Equal(got, tt.firstTest) {
				t.Errorf("first test labels %v, want %v", got, tt.firstTest)
			}
			if got := nearestMean(train, test); math.Abs(got-tt.accuracy) > 0.00005001 {
				t.Errorf("nearest class mean: accuracy %.4f, want %.4f", got, tt.accuracy)
			}
			for c := range train.Shape.C {
				mean, std := moments(train, c)
				if tt.standard && (math.Abs(mean) > 0.02 || math.Abs(std-1) > 0.02) {
					t.Errorf("channel %d: mean %.3f, deviation %.3f after normalisation, want 0 and 1", c, mean, std)
				}
			}
		})
	}
}

func TestRealA9A(t *testing.T) {
	train, test, err := Load("a9a", realDir(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := histogram(train.Labels()), []int{24720, 7841}; !slices.Equal(got, want) {
		t.Errorf("train labels %v, want %v", got, want)
	}
	if got, want := histogram(test.Labels()), []int{12435, 3846}; !slices.Equal(got, want) {
		t.Errorf("test labels %v, want %v", got, want)
	}
	for _, tt := range []struct {
		name string
		set  Set
		want int
	}{{"train", train, 451_592}, {"test", test, 225_731}} {
		ones := 0
		for _, v := range tt.set.floats {
			if v == 1 {
				ones++
			} else if v != 0 {
				t.Fatalf("%s: value %v", tt.name, v)
			}
		}
		if ones != tt.want {
			t.Errorf("%s: %d ones, want %d", tt.name, ones, tt.want)
		}
	}
}

func TestTrainReadsTheSameRowsAsTheWholeSet(t *testing.T) {
	names := []string{"glyphs"}
	dir := os.Getenv("PEER_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(dir); err == nil {
		names = append(names, "fashion-mnist", "a9a", "optdigits")
	} else {
		t.Logf("SKIPPED for all sets but glyphs: %v", err)
	}
	rows := []int{3000, 7, 0, 3600}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s, err := Open(name, dir)
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.Train(nil)
			if err != nil {
				t.Fatal(err)
			}
			some, err := s.Train(rows)
			if err != nil {
				t.Fatal(err)
			}
			y, err := s.TrainLabels()
			if err != nil {
				t.Fatal(err)
			}
			sub := all.Subset(rows)
			var a, b, c sample.Batch
			all.Gather(&a, rows)
			some.Range(&b, 0, len(rows))
			sub.Range(&c, 0, len(rows))
			for k, i := range rows {
				if got := some.Label(k); got != all.Label(i) || got != int(y.Of[i]) {
					t.Errorf("row %d: labels %d, %d and %d differ", i, got, all.Label(i), y.Of[i])
				}
			}
			if !slices.Equal(a.X, b.X) || !slices.Equal(a.X, c.X) || !slices.Equal(a.Y, b.Y) || !slices.Equal(a.Y, c.Y) {
				t.Error("samples of the whole set, of the rows alone and of the subset differ")
			}
		})
	}
}

func TestVerifyRealSets(t *testing.T) {
	dir := realDir(t)
	for _, name := range []string{"fashion-mnist", "cifar-10", "a9a", "optdigits"} {
		report, err := Verify(name, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, _ := Lookup(name)
		if len(report) != len(info.Files) {
			t.Errorf("%s: %d files in the report, want %d", name, len(report), len(info.Files))
		}
	}
}

func TestGlyphsAreLearnableButNotTrivial(t *testing.T) {
	train, test, err := Load("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	if train.Len() != 12_000 || test.Len() != 2_000 {
		t.Errorf("%d train and %d test samples, want 12000 and 2000", train.Len(), test.Len())
	}
	if got := nearestMean(train, test); got < 0.5 || got > 0.9 {
		t.Errorf("nearest class mean: accuracy %.4f, want 0.5..0.9", got)
	}
	if mean, std := moments(train, 0); math.Abs(mean) > 0.01 || math.Abs(std-1) > 0.01 {
		t.Errorf("mean %.3f, deviation %.3f after normalisation, want 0 and 1", mean, std)
	}
	f := train.Shape.Features()
	if slices.Equal(train.bytes[:f], test.bytes[:f]) {
		t.Error("the test split repeats the train split")
	}
}

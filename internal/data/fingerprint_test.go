package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"gossiptrainer/model/sample"
)

// write makes a folder of files.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ownFingerprint(t *testing.T, train, test string) string {
	t.Helper()
	a, b, err := Load(libsvmName, writeFiles(t, map[string]string{libsvmTrain: train, libsvmTest: test}))
	if err != nil {
		t.Fatal(err)
	}
	return Fingerprint(a, b)
}

// A fingerprint depends on rows, labels, values, classes, dimension and order, and on nothing else.
func TestFingerprintIsOfTheContent(t *testing.T) {
	const train, test = "1 1:0.5 3:2\n2 2:1\n", "1 1:1\n"
	base := ownFingerprint(t, train, test)
	if again := ownFingerprint(t, "1 1:0.50 3:2.0\n2 2:1\n", test); again != base || len(base) != 16 {
		t.Errorf("the same rows in another folder: %s and %s", base, again)
	}
	for name, other := range map[string][2]string{
		"order":           {"2 2:1\n1 1:0.5 3:2\n", test},
		"a shifted label": {"2 1:0.5 3:2\n1 2:1\n", test},
		"a value":         {"1 1:0.5 3:3\n2 2:1\n", test},
		"one row more":    {train + "1 1:1\n", test},
		"dimension":       {"1 1:0.5 3:2 4:0\n2 2:1\n", test},
		"a class more":    {train, "3 1:1\n"},
		"other classes":   {"1 1:0.5 3:2\n7 2:1\n", test},
		"the test set":    {train, "1 1:2\n"},
	} {
		if got := ownFingerprint(t, other[0], other[1]); got == base {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

func TestFingerprintDoesNotDependOnCompression(t *testing.T) {
	record := func(label byte) string { return string(append([]byte{label}, make([]byte, 3*cifarPlane)...)) }
	batch := strings.Repeat(record(3)+record(7), cifarRecords/2)
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := map[string]string{}, map[string]string{}
	for _, name := range append(cifarFiles(trainPart), cifarFiles(testPart)...) {
		plain[name], packed[name+".zst"] = batch, string(pack.EncodeAll([]byte(batch), nil))
	}
	var sums []string
	for _, files := range []map[string]string{plain, packed} {
		_, test, err := Load("cifar-10", writeFiles(t, files))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, Fingerprint(test))
	}
	if sums[0] != sums[1] {
		t.Errorf("plain %s, compressed %s", sums[0], sums[1])
	}
}

// Files whose largest indices and labels differ become sets of one form.
func TestOwnSetsHaveOneForm(t *testing.T) {
	dirs := []string{
		writeFiles(t, map[string]string{libsvmTrain: "1 1:1 5:1\n", libsvmTest: "1 1:1\n"}),
		writeFiles(t, map[string]string{libsvmTrain: "-1 2:1\n-1 3:1\n", libsvmTest: "1 1:1\n"}),
	}
	open := func(features int, classes ...string) ([]*Source, error) {
		var specs []FileSpec
		for _, dir := range dirs {
			spec, err := FolderSpec(dir)
			if err != nil {
				t.Fatal(err)
			}
			spec.Features, spec.Classes = features, classes
			specs = append(specs, spec)
		}
		return OpenFiles(specs)
	}
	check := func(sources []*Source, err error) func(features int, classes ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return func(features int, classes ...string) {
			t.Helper()
			for i, s := range sources {
				if s.Info.Shape.C != features || !slices.Equal(s.Info.Classes, classes) {
					t.Errorf("set %d: %d features, classes %v, want %d and %v", i, s.Info.Shape.C, s.Info.Classes, features,
						classes)
				}
				if set, err := s.Train(nil); err != nil || set.Len() != i+1 || set.Label(0) != (1+i)%2+len(classes)-2 {
					t.Errorf("set %d: %d rows, label %d (%v)", i, set.Len(), set.Label(0), err)
				}
			}
		}
	}
	check(open(0))(5, "-1", "1")
	check(open(9, "-2", "-1", "1"))(9, "-2", "-1", "1")
	_, err := open(4)
	wantError(t, err, "line 1: index 5: data.dimension allows 1..4")
	_, err = open(0, "-1", "2")
	wantError(t, err, `line 1: label "1": data.labels has -1, 2`)
}

func TestConcatKeepsOrder(t *testing.T) {
	dir := writeFiles(t, map[string]string{libsvmTrain: "1 1:1\n2 1:2\n", libsvmTest: "2 1:3\n1 1:4\n"})
	train, test, err := Load(libsvmName, dir)
	if err != nil {
		t.Fatal(err)
	}
	all := Concat([]Set{train, test})
	var b sample.Batch
	all.Range(&b, 0, all.Len())
	if !slices.Equal(b.X, []float32{1, 2, 3, 4}) || !slices.Equal(b.Y, []int32{0, 1, 1, 0}) || train.Len() != 2 {
		t.Errorf("got %v, %v", b.X, b.Y)
	}
}

// The fingerprint must cost little compared with reading the files.
func BenchmarkFingerprint(b *testing.B) {
	train, test, err := Load("glyphs", "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(train.bytes) + len(test.bytes)))
	for b.Loop() {
		Fingerprint(train, test)
	}
}

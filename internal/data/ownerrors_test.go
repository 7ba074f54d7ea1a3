package data

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every mistake of a user is refused where it is.
func TestMistakesInFilesAreRefused(t *testing.T) {
	many, busy, ids := strings.Builder{}, strings.Builder{}, strings.Builder{}
	for i := range 300 {
		fmt.Fprintf(&many, "1,%d\n", i)
		fmt.Fprintf(&busy, "1,%d.5\n", i)
	}
	for i := range 20 {
		fmt.Fprintf(&ids, "1,u%d\n", i%19)
	}
	x, compressed := npy("<f8", "(2, 1)", false, floats64(1, 2)), squeezed(t, []byte("1,0\n2,1\n"))
	tests := []struct {
		name, file string
		content    []byte
		columns    Columns
		want       string
	}{
		{"empty", "a.csv", nil, Columns{}, "a.csv: line 1: the file is empty: name another one, or put samples into it"},
		{"blank", "a.csv", []byte("\n\n"), Columns{}, "line 1: the file is empty"},
		{"header alone", "a.csv", []byte("a,b\n"), Columns{}, "line 2: the file has a header, but no rows: add some, " +
			"or set data.header: absent if the line is a row"},
		{"one column", "a.csv", []byte("a\n1\n"), Columns{}, "line 1: one column only: want a label and values with , ; " +
			"tabs or blanks between them, and above the rows at most a line with their names"},
		{"label column by name", "a.csv", []byte("a,b\n1,2\n"), Columns{Label: "c"},
			`line 1: data.label: there is no column "c" among a, b`},
		{"label column by number", "a.csv", []byte("1,2\n"), Columns{Label: "3"},
			`data.label: "3": want a column number, 1 to 2`},
		{"label column 0", "a.csv", []byte("a,b\n1,2\n"), Columns{Label: "0"}, "data.label: there is no column"},
		{"two labels", "a.csv", []byte("a,a\n1,2\n"), Columns{Label: "a"}, `several columns have the name "a"`},
		{"label skipped", "a.csv", []byte("a,b\n1,2\n"), Columns{Skip: []string{"b"}},
			"data.skip: 2 (b) is the column of the labels"},
		{"all skipped", "a.csv", []byte("a,b\n1,2\n"), Columns{Skip: []string{"a"}}, "no column is left"},
		{"label among features", "a.csv", []byte("a,b\n1,2\n"), Columns{Features: []string{"b"}},
			"data.features: b is the column of the labels"},
		{"one feature twice", "a.csv", []byte("a,b\n1,2\n"), Columns{Features: []string{"a", "1"}},
			"data.features: 1 occurs twice"},
		{"no name", "a.csv", []byte("a,,b\n0,1,x\n"), Columns{},
			`column 2 has no name: leave it out with data.skip: ["2"], or give it a name`},
		{"nothing but row numbers", "a.csv", []byte(",b\n0,x\n"), Columns{}, "no column is left to learn from"},
		{"missing", "a.csv", []byte("a,b\n1,x\n,y\n"), Columns{},
			"a.csv: row 2 (line 3), column 1 (a): the value is missing"},
		{"NaN", "a.csv", []byte("1,0\n\nNaN,1\n"), Columns{}, "row 2 (line 3), column 1: the value is missing"},
		{"infinite", "a.csv", []byte("1,0\n-Inf,1\n"), Columns{},
			"row 2 (line 2), column 1: the value is not finite"},
		{"too large", "a.csv", []byte("1,0\n1e39,1\n"), Columns{},
			"row 2 (line 2), column 1: the value is not finite"},
		{"no label", "a.csv", []byte("1,0\n2,?\n"), Columns{}, "row 2 (line 2), column 2: the label is missing"},
		{"text", "a.csv", []byte("a,b\n1,0\nBerlin,1\n"), Columns{},
			`row 2 (line 3), column 1 (a): "Berlin" is no number`},
		{"decimal comma", "a.csv", []byte("a,b\n\"1,5\",0\n"), Columns{}, `"1,5" has a decimal comma`},
		{"two decimal marks", "a.csv", []byte("a;b\n1,5;0\n1.5;1\n"), Columns{},
			`row 2 (line 3), column 1 (a): "1.5": the file has decimal commas and decimal points`},
		{"thousands", "a.csv", []byte("a;b\n1.234,5;0\n"), Columns{}, `"1.234,5" is no number`},
		{"mistake in an encoded file", "a.csv", []byte("a,b\n1,x\n2,y\n1O,x\n"), Columns{Encode: true},
			`"1O" is no number, as most of the column are: correct it, or list it in data.missing`},
		{"texts without a name", "a.csv", []byte("1,red,0\n2,blue,1\n"), Columns{Encode: true},
			"column 2 has texts, and data.encode needs names of columns: write a first line with names above the rows"},
		{"texts alone without names", "a.csv", []byte("x,red\ny,blue\nx,blue\ny,red\n"), Columns{Encode: true},
			"column 1 has texts, and data.encode needs names of columns"},
		{"encoded array", "a.npy", x, Columns{Encode: true}, "data.encode is for CSV files: this is NumPy array"},
		{"quoted lines", "a.csv", []byte("a,b\n1,\"x\ny\"\nz,q\n"), Columns{},
			`row 2 (line 4), column 1 (a): "z" is no number`},
		{"short row", "a.csv", []byte("1,2\n1\n"), Columns{}, "line 2: row 2 has 1 fields, want 2 as in the first " +
			"line: complete the row, or put texts with ',' into quotes"},
		{"open quote", "a.csv", []byte("1,2\n\"1,2\n"), Columns{}, "line 2, character 6: extraneous or missing \" in " +
			"quoted-field: write quotes around the whole text, and \"\" for a quote in it"},
		{"long line", "a.csv", append([]byte("1,2\n"), bytes.Repeat([]byte("9"), csvRecord+csvSniff)...),
			Columns{}, "a row with more than"},
		{"UTF-16", "a.csv", []byte("\xff\xfea\x00,\x00"), Columns{}, "UTF-16: save it as UTF-8"},
		{"carriage returns", "a.csv", []byte("1,2\r3,4\r"), Columns{}, "a carriage return alone"},
		{"binary", "a.csv", []byte("a,b\x00"), Columns{},
			"a.csv: offset 3: a byte 0x00: this is no text: save a table as CSV in UTF-8, or arrays with numpy.savez"},
		{"binary without zeros", "a.csv", []byte("a,\xe0\x1f\n"), Columns{}, "a.csv: offset 3: a byte 0x1f: this is no text"},
		{"gzip cut off", "a.csv", compressed[:len(compressed)-9], Columns{},
			"the compressed data are damaged or cut off (unexpected EOF): fetch or compress the file again"},
		{"header of gzip cut off", "a.csv", compressed[:5], Columns{}, "a.csv: offset 0: the compressed data are damaged"},
		{"wrong sum of gzip", "a.csv", slices.Concat(compressed[:len(compressed)-8], make([]byte, 8)), Columns{},
			"the compressed data are damaged or cut off (gzip: invalid checksum)"},
		{"tar", "a.tar", append(make([]byte, 257), "ustar\x00"...), Columns{},
			"a.tar: offset 0: packed with tar, bzip2, xz, 7z or rar: unpack it"},
		{"bzip2", "a.csv", []byte("BZh91AY&SY"), Columns{}, "packed with tar, bzip2"},
		{"xz", "a.csv", []byte("\xfd7zXZ\x00"), Columns{}, "packed with tar, bzip2"},
		{"old workbook", "a.xls", []byte("\xd0\xcf\x11\xe0"), Columns{}, "a.xls: offset 0: an Excel or OpenDocument"},
		{"ARFF", "a.arff", []byte("@relation x\n"), Columns{}, "an ARFF file: save it as CSV"},
		{"MATLAB", "a.mat", []byte("MATLAB 5.0 MAT-file"), Columns{}, "a MATLAB file: save the arrays with numpy.savez"},
		{"line for Excel", "a.csv", []byte("sep=;\na;b\n1;2\n"), Columns{},
			"a.csv: line 1: sep= is a line for Excel alone: remove it"},
		{"delimiter at the end", "a.csv", []byte("a,b,\n1,x,\n2,y,\n"), Columns{},
			"a.csv: line 1: column 3 is that of the labels, and empty: name the column of the classes with data.label"},
		{"ids", "a.csv", []byte(ids.String()), Columns{},
			"a.csv: 20 rows have 19 different labels, as ids have: name the column of the classes with data.label"},
		{"text renamed", "a.zip", []byte("a,b\n1,\n"), Columns{},
			"a.zip: row 1 (line 2), column 2 (b): the label is missing: fill it in, or remove the row"},
		{"one class", "a.csv", []byte("1,x\n2,x\n"), Columns{}, `all samples have the label "x"`},
		{"one row", "a.csv", []byte("1,x\n"), Columns{}, "one sample cannot be split"},
		{"regression", "a.csv", []byte(busy.String()), Columns{},
			"row 1 (line 1): label 0.5 is no whole number: models classify"},
		{"many classes", "a.csv", []byte(many.String()), Columns{},
			"row 257 (line 257): label \"256\": more than 256"},
		{"damaged gzip", "a.csv.gz", []byte("1,2"), Columns{}, "offset 0"},
		{"prose", "a.txt", []byte("First Citizen:\nBefore we proceed, hear me.\n"), Columns{},
			"none of the built-in models learns from text"},
		{"prose with commas", "a.txt", []byte("Yes, no\nBefore we proceed, hear me.\n"), Columns{},
			"none of the built-in models learns from text"},
		{"JSON", "a.json", []byte(`{"a": 1}`), Columns{}, "JSON: save it as CSV"},
		{"script", "a.py", []byte("import torch\nprint(1)\n"), Columns{}, "a script, which trains with data of its own"},
		{"pickle", "a.pkl", []byte("\x80\x04\x95"), Columns{}, "a pickle, which could run code"},
		{"HDF5", "a.h5", []byte("\x89HDF\r\n"), Columns{}, "an HDF5 file"},
		{"workbook", "a.xlsx", zipped(t, map[string][]byte{"[Content_Types].xml": nil}), Columns{},
			"an Excel or OpenDocument workbook: save the sheet as CSV"},
		{"zip", "a.zip", zipped(t, map[string][]byte{"a.csv": nil}), Columns{}, "a zip file without arrays"},
		{"damaged zip", "a.npz", []byte("PK\x03\x04"), Columns{}, "a.npz: offset 0"},
		{"header of npy", "X.npy", x, Columns{Header: "present"},
			"data.header is for CSV files: this is NumPy array"},
		{"no labels", "X.npy", x, Columns{}, "has no labels: name their file with data.label"},
		{"missing labels", "X.npy", x, Columns{Label: "q.npy"}, "q.npy: not found"},
		{"objects", "X.npy", npy("|O", "(2, 2)", false, nil), Columns{}, "pickled Python objects"},
		{"structured", "X.npy", npy("x', 'descr': [('a', '<f4')], 'z':'", "(2,)", false, nil), Columns{},
			"type \"x\""},
		{"complex", "X.npy", npy("<c8", "(2, 2)", false, nil), Columns{}, `type "<c8"`},
		{"short npy", "X.npy", npy("<f8", "(2, 2)", false, floats64(1, 2, 3)), Columns{}, "8 bytes too early"},
		{"short Fortran", "X.npy", npy("<f8", "(2, 2)", true, floats64(1, 2, 3)), Columns{}, "8 bytes too early"},
		{"long npy", "X.npy", npy("<f8", "(2, 2)", false, floats64(1, 2, 3, 4, 5)), Columns{},
			"continues where it should end"},
		{"vast npy", "X.npy", npy("<f8", "(99999999, 99999999)", false, nil), Columns{}, "want at most"},
		{"no samples", "X.npy", npy("<f8", "(0, 2)", false, nil), Columns{}, "no samples"},
		{"scalar", "X.npy", npy("<f8", "()", false, floats64(1)), Columns{}, "a single number"},
		{"version", "X.npy", []byte(npyMagic + "\x09\x00abcd"), Columns{}, "version 9"},
		{"NaN in npy", "X.npy", npy("<f8", "(2, 2)", false, floats64(1, 2, math.NaN(), 4)), Columns{},
			"row 2, column 1: the value is missing"},
		{"overflow in npy", "X.npy", npy("<f8", "(2, 2)", false, floats64(1, 2, 1e300, 4)), Columns{},
			"row 2, column 1: the value is not finite"},
		{"no y", "a.npz", zipped(t, map[string][]byte{"X.npy": x, "Z.npy": x}), Columns{},
			"name the array with data.label: the archive has X, Z"},
		{"no array q", "a.npz", zipped(t, map[string][]byte{"X.npy": x}), Columns{Label: "q"},
			`data.label: there is no array "q" among X`},
		{"other count", "a.npz", zipped(t, map[string][]byte{"X.npy": x, "y.npy": npy("|u1", "(3,)", false,
			[]byte{1, 2, 3})}), Columns{},
			"3 labels for 2 samples"},
		{"one-hot", "a.npz", zipped(t, map[string][]byte{"X.npy": x, "y.npy": npy("|u1", "(2, 2)", false,
			[]byte{1, 0, 0, 1})}), Columns{},
			"save y.argmax(1)"},
		{"damaged Parquet", "a.parquet", []byte("PAR1abcdPAR1"), Columns{}, "the footer"},
		{"null in Parquet", "a.parquet", parquetFile(t, struct {
			A *float64 `parquet:"a,optional"`
			Y int32    `parquet:"y"`
		}{nil, 1}), Columns{}, "a.parquet: row 1, column 1 (a): the value is missing"},
		{"text in Parquet", "a.parquet", parquetFile(t, struct {
			A string `parquet:"a"`
			Y int32  `parquet:"y"`
		}{"x", 1}), Columns{}, "column 1 (a): its values are texts: leave the column out with data.skip"},
		{"list in Parquet", "a.parquet", parquetFile(t, struct {
			A []float64 `parquet:"a"`
			Y int32     `parquet:"y"`
		}{nil, 1}), Columns{}, "column 1 (a): it is nested"},
		{"LIBSVM with a label column", "a.svm", []byte("1 1:1\n"), Columns{Label: "a"},
			"LIBSVM text has no columns"},
		{"damaged LIBSVM", "a.svm", []byte("1 1:1\n2 1:x\n"), Columns{}, "a.svm: line 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := put(t, t.TempDir(), test.file, test.content)
			_, err := OpenFiles([]FileSpec{{Path: path, TestShare: 0.2, Columns: test.columns}})
			wantError(t, err, test.want)
			_, format := errors.AsType[*FormatError](err)
			_, missing := errors.AsType[*MissingError](err)
			if err != nil && !format && !missing {
				t.Errorf("%T is neither a FormatError nor a MissingError", err)
			}
		})
	}
}

func TestMistakesInFoldersOfPicturesAreRefused(t *testing.T) {
	good, tall, dot := picture(t, grey(2, 1, 1, 2)), picture(t, grey(1, 2, 1, 2)), picture(t, grey(1, 1, 1))
	spoilt, deep := bytes.Clone(good), []byte("\xff\xd8\xff\xc0\x00\x0b\x0c\x00\x01\x00\x01\x01\x01\x11\x00")
	spoilt[len(spoilt)-1] ^= 1
	tests := []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{"empty", nil, "no folder and no picture in it: want one folder of pictures per class"},
		{"text alone", map[string][]byte{"a.txt": nil}, "no folder and no picture in it"},
		{"empty class", map[string][]byte{"a/.hidden": nil, "b/1.png": good},
			"/a: no picture of this class: put some into the folder, or remove it"},
		{"text in a class", map[string][]byte{"a/1.txt": nil, "b/1.png": good}, "/a: no picture of this class"},
		{"a file beside classes", map[string][]byte{"a/1.png": good, "b.png": good},
			"b.png: want one folder of pictures per class"},
		{"a folder in a class", map[string][]byte{"train/a/1.png": good}, "train/a: a folder in the class train: want " +
			"pictures only; name the folder above the classes with data.path, and that of a test part with data.test"},
		{"three sizes", map[string][]byte{"a/1.png": good, "a/2.png": tall, "a/3.png": good, "b/1.png": tall, "b/2.png": good,
			"b/3.png": dot}, "pictures of 3 sizes, width x height (2x1: 3, 1x2: 2, 1x1: 1); "},
		{"a rare size", map[string][]byte{"a/1.png": tall, "b/1.png": good, "b/2.png": good},
			"/a/1.png has 1x2: resize all to one size, such as 2x1, which 2 pictures have"},
		{"no size twice", map[string][]byte{"a/1.png": tall, "b/1.png": good},
			"(1x2: 1, 2x1: 1); "},
		{"text", map[string][]byte{"a/1.png": []byte("abcdef")}, "1.png: neither PNG nor JPEG: convert it, or move it away"},
		{"short header", map[string][]byte{"a/1.png": good[:20]},
			"/a/1.png: the picture is damaged (unexpected EOF): replace it, or move it away"},
		{"short picture", map[string][]byte{"a/1.png": good[:50], "b/1.png": good}, "/a/1.png: the picture is damaged (png"},
		{"wrong sum", map[string][]byte{"a/1.png": spoilt, "b/1.png": good},
			"/a/1.png: the picture is damaged (png: invalid format: invalid checksum): replace it, or move it away"},
		{"unsupported", map[string][]byte{"a/1.jpg": deep, "b/1.png": good},
			"/a/1.jpg: unsupported JPEG feature: precision: save the picture as a plain PNG"},
		{"vast", map[string][]byte{"a/1.png": vastPicture(good)}, "want at most 16777216 in all: resize it"},
		{"one class", map[string][]byte{"a/1.png": good, "a/2.png": good},
			`all samples have the label "a", so there is nothing to learn: add a folder with the pictures of another class`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				put(t, dir, name, content)
			}
			_, err := OpenFiles([]FileSpec{{Path: dir, TestShare: 0.5}})
			wantError(t, err, test.want)
		})
	}
}

// vastPicture gives a picture of 2 by 1 pixels another width in its header.
func vastPicture(png []byte) []byte {
	vast := bytes.Clone(png)
	copy(vast[16:], []byte{0x00, 0xff, 0xff, 0xff, 0x00, 0x00, 0xff, 0xff})
	sum := crc32.ChecksumIEEE(vast[12:29])
	copy(vast[29:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return vast
}

func TestFilesOfOneSetMustAgree(t *testing.T) {
	dir := t.TempDir()
	train := put(t, dir, "train.csv", []byte("a,b,y\n1,2,0\n1,2,1\n"))
	for test, want := range map[string]string{
		"b,a,y\n1,2,0\n": "value 1 is b, but a in the first file",
		"a,y\n1,0\n":     "samples of 1 (CSV with commas and a header), but the first file has 2",
	} {
		_, err := OpenFiles([]FileSpec{{Path: train, Test: put(t, dir, "test.csv", []byte(test))}})
		wantError(t, err, want)
	}
}

func TestClassesOfOtherMachines(t *testing.T) {
	dir := t.TempDir()
	a := put(t, dir, "a.csv", []byte("1,cat\n2,cat\n"))
	b := put(t, dir, "b.csv", []byte("1,dog\n2,dog\n"))
	sources, err := OpenFiles([]FileSpec{{Path: a, TestShare: 0.5}, {Path: b, TestShare: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sources {
		train, _ := bothParts(t, s)
		if fmt.Sprint(s.Info.Classes) != "[cat dog]" || train.Label(0) != i {
			t.Errorf("machine %d: classes %v, label %d", i, s.Info.Classes, train.Label(0))
		}
	}
	all := []string{"cat", "dog"}
	sources, err = OpenFiles([]FileSpec{{Path: b, TestShare: 0.5, Classes: all, Features: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if train, _ := bothParts(t, sources[0]); train.Label(0) != 1 {
		t.Errorf("with classes given, label %d, want 1", train.Label(0))
	}
	_, err = OpenFiles([]FileSpec{{Path: b, Classes: []string{"cat", "cow"}}})
	wantError(t, err, `row 1 (line 1): label "dog": data.labels has cat, cow`)
	_, err = OpenFiles([]FileSpec{{Path: b, Classes: all, Features: 2}})
	wantError(t, err, "1 values in a sample, but data.dimension is 2")
}

func TestAFileThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "iris.csv")
	_, err := OpenFiles([]FileSpec{{Path: path}})
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || missing.Error() != "data: "+path+": not found" || !strings.Contains(missing.Hint(), "data.path") {
		t.Errorf("error %v, want a MissingError of %s", err, path)
	}
}

func TestAFileThatChangesIsRefused(t *testing.T) {
	path := put(t, t.TempDir(), "a.csv", []byte("1,0\n2,1\n"))
	for _, later := range []string{"1,0\n", "1,0\n2,1\n3,1\n"} {
		put(t, filepath.Dir(path), "a.csv", []byte("1,0\n2,1\n"))
		sources, err := OpenFiles([]FileSpec{{Path: path, Test: path}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = sources[0].Train(nil)
		wantError(t, err, "the file has changed while it was read")
	}
}

// A survey names each mistake of a column once, and counts its values.
func TestASurveyCountsComplaints(t *testing.T) {
	text := "a,b,kind\n" + strings.Repeat("1,red,x\n,blue,y\n", 30) + "2,1e99,x\n"
	all, err := SurveyFiles(FileSpec{Path: put(t, t.TempDir(), "a.csv", []byte(text)), Columns: Columns{Label: "kind"}})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range all[0].First {
		said = append(said, c.String())
	}
	want := []string{
		`row 1 (line 2), column 2 (b), the first of 60 such values in the column: "red" is no number: data.encode: ` +
			"true makes numbers of texts, data.skip leaves the column out, and data.label names the column of the classes",
		"row 2 (line 3), column 1 (a), the first of 30 such values in the column: " + missingCell +
			"; data.encode: true takes the mean of the column",
		"row 61 (line 62), column 2 (b): " + hugeCell,
	}
	if !slices.Equal(said, want) || all[0].Missing != 30 || all[0].Wrong != 61 {
		t.Errorf("%d missing, %d wrong: %s", all[0].Missing, all[0].Wrong, strings.Join(said, "\n"))
	}
}

package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPlainWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "+7": "7", "-7": "-7", "0": "0", "-0": "0", "7.0": "7", "-7.00": "-7", "7.": "7",
		"0.000000000000000000e+00": "0", "1.00e+01": "10", "9007199254740993": "9007199254740993",
		"18446744073709551615": "18446744073709551615", "-9223372036854775808": "-9223372036854775808",
		"007": "", "00": "", "0x7": "", "7e0": "", "1e3": "", "7.5": "", "": "", "+": "", "-": "", "--7": "", ".0": "",
		"1_0": "", "seven": "", "9007199254740993.0": "9007199254740992", "1.0e40": "", "NaN": "", "inf": "",
	} {
		if got, ok := wholeNumber(text); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
}

func FuzzWholeNumber(f *testing.F) {
	f.Add("-0.0")
	f.Add("1.5e1")
	f.Fuzz(func(t *testing.T, text string) {
		short, ok := wholeNumber(text)
		if !ok {
			return
		}
		v, err := strconv.ParseFloat(text, 64)
		w, errShort := strconv.ParseFloat(short, 64)
		if again, _ := wholeNumber(short); err != nil || errShort != nil || v != w || again != short {
			t.Errorf("%q becomes %q, then %q", text, short, again)
		}
	})
}

// rowsOf writes rows with one value and the labels in turn.
func rowsOf(rows int, labels ...string) []byte {
	var text strings.Builder
	fmt.Fprintln(&text, "x,y")
	for i := range rows {
		fmt.Fprintf(&text, "%d.5,%s\n", i%4, labels[i%len(labels)])
	}
	return []byte(text.String())
}

func TestLabelsStayTexts(t *testing.T) {
	for _, test := range []struct {
		name    string
		labels  []string
		missing Absence
		classes string
		note    string
	}{
		{"names", []string{"b", "a"}, nil, "a b", ""},
		{"numbers", []string{"10", "9", "-1"}, nil, "-1 9 10", ""},
		{"numbers of pandas", []string{"7.0", "9.0"}, nil, "7 9", ""},
		{"numbers in two forms", []string{"7.0", "9", "7", "+7"}, nil, "7 9",
			"the labels +7, 7, 7.0 are equal as numbers: 3 texts are one class"},
		{"codes", []string{"007", "7", "0x7"}, nil, "007 0x7 7",
			"the labels 007, 7 are equal as numbers, and 2 classes, because not all labels are plain whole numbers"},
		{"beyond 53 bits", []string{"9007199254740993", "9007199254740992"}, nil, "9007199254740992 9007199254740993",
			"the labels 9007199254740992, 9007199254740993 are equal"},
		{"signs", []string{"+", "-"}, nil, "+ -", ""},
		{"countries", []string{"NA", "DE"}, nil, "DE NA",
			`!the label "NA" of 20 rows is a class: if it stands for missing labels, set data.missing: ["NA"]`},
		{"countries, as the run file says", []string{"NA", "DE"}, Absence{""}, "DE NA", ""},
		{"findings", []string{"none", "tumour"}, nil, "none tumour", `!the label "none"`},
		{"question marks, as the run file says", []string{"?", "!"}, Absence{"NA"}, "! ?", ""},
		{"a class that is a number among names", []string{"7.0", "x"}, nil, "7.0 x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := put(t, t.TempDir(), "a.csv", rowsOf(20*len(test.labels), test.labels...))
			s, notes := opened(t, FileSpec{Path: path, TestShare: .2, Columns: Columns{Missing: test.missing}})
			if got := strings.Join(s.Info.Classes, " "); got != test.classes {
				t.Errorf("classes %q, want %q", got, test.classes)
			}
			if !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
				t.Errorf("notes %q, want %q", notes, test.note)
			}
			counts := make([]int, len(s.Info.Classes))
			train, held := bothParts(t, s)
			for _, set := range []Set{train, held} {
				for i := range set.Len() {
					counts[set.Label(i)]++
				}
			}
			if slices.Min(counts) < 20 {
				t.Errorf("rows by class: %v, want at least 20 each", counts)
			}
			surveys, err := SurveyFiles(FileSpec{Path: path, Columns: Columns{Missing: test.missing}})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range surveys[0].Classes {
				names = append(names, c.Name)
			}
			if got := strings.Join(names, " "); got != test.classes {
				t.Errorf("the survey has the classes %q, want %q", got, test.classes)
			}
		})
	}
}

// Both files of a set decide together whether labels are numbers.
func TestBothFilesNameClassesAlike(t *testing.T) {
	dir := t.TempDir()
	train := put(t, dir, "a.csv", rowsOf(8, "7.0", "9.0"))
	for test, want := range map[string]string{"7": "[7 9]", "007": "[007 7.0 9.0]"} {
		s, _ := opened(t, FileSpec{Path: train, Test: put(t, dir, "b.csv", rowsOf(8, test))})
		if got := fmt.Sprint(s.Info.Classes); got != want {
			t.Errorf("with the label %s in the test file: classes %s, want %s", test, got, want)
		}
	}
}

func TestLabelsOf64BitsStayApart(t *testing.T) {
	type row struct {
		A float64 `parquet:"a"`
		Y int64   `parquet:"y"`
	}
	dir := t.TempDir()
	x := npy("<f8", "(4, 1)", false, floats64(1, 2, 3, 4))
	const big = 1<<53 + 1
	whole := make([]byte, 0, 32)
	for _, v := range []uint64{big, big - 1, big, big - 1} {
		for k := range 8 {
			whole = append(whole, byte(v>>(8*k)))
		}
	}
	for name, content := range map[string][]byte{
		"a.parquet": parquetFile(t, row{1, big}, row{2, big - 1}, row{3, big}),
		"a.npz":     zipped(t, map[string][]byte{"X.npy": x, "y.npy": npy("<i8", "(4,)", false, whole)}),
		"b.npz":     zipped(t, map[string][]byte{"X.npy": x, "y.npy": npy("<u8", "(4,)", false, whole)}),
	} {
		s, _ := opened(t, FileSpec{Path: put(t, dir, name, content), TestShare: .3})
		if got := fmt.Sprint(s.Info.Classes); got != "[9007199254740992 9007199254740993]" {
			t.Errorf("%s: classes %s", name, got)
		}
	}
}

// unixTimes are an hour of seconds, which 32 bits round to multiples of 128.
func unixTimes(column, row int) float64 {
	if column == 0 {
		return 1.7e9 + float64(row*17%3600)
	}
	return float64(row % 5)
}

func TestValuesThatBecomeEqualAreCounted(t *testing.T) {
	path := put(t, t.TempDir(), "a.csv", table("t,x,y", 200, unixTimes))
	_, notes := opened(t, FileSpec{Path: path, TestShare: .2})
	narrow := map[float32]bool{}
	for i := range 200 {
		narrow[float32(unixTimes(0, i))] = true
	}
	want := fmt.Sprintf("!column t: 200 distinct values are only %d in 32 bits: data.standardise: true", len(narrow))
	if !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	surveys, err := SurveyFiles(FileSpec{Path: path})
	if err != nil || surveys[0].Columns[0].Lost != 200-len(narrow) || surveys[0].Columns[1].Lost != 0 {
		t.Errorf("the survey has the columns %+v, error %v", surveys[0].Columns, err)
	}
	s, notes := opened(t, FileSpec{Path: path, TestShare: .2, Standardise: true})
	if notes != "" {
		t.Errorf("standardised columns have the notes %q", notes)
	}
	train, _ := bothParts(t, s)
	var times []float32
	sum, squares := 0., 0.
	for i := range train.Len() {
		v := train.floats[2*i]
		times, sum, squares = append(times, v), sum+float64(v), squares+float64(v)*float64(v)
	}
	slices.Sort(times)
	n := float64(len(times))
	distinct := len(slices.Compact(times))
	if distinct != train.Len() || math.Abs(sum/n) > 1e-6 || math.Abs(squares/n-1) > 1e-5 {
		t.Errorf("%d distinct values of %d, mean %g, variance %g", distinct, train.Len(), sum/n, squares/n)
	}
}

// A file of numbers that are all different in 32 bits has no note, whatever their digits.
func TestValuesThatStayApart(t *testing.T) {
	path := put(t, t.TempDir(), "a.csv", table("a,b,y", 500, func(column, row int) float64 {
		return math.Sqrt(float64(row)*float64(column+1)+2) * 1e-3
	}))
	if _, notes := opened(t, FileSpec{Path: path, TestShare: .2}); notes != "" {
		t.Errorf("notes %q", notes)
	}
}

// Numbers are rounded to 32 bits once, not first to 64.
func TestNumbersAreRoundedOnce(t *testing.T) {
	for _, text := range []string{"1.000000059604644775390626", "1.00000005960464477539062499", "16777217",
		"16777217.0000000000000000001", "1e-46", "7.006492321624085e-46", "3.4028235677973366e38", "-3.4028235677973366e38",
		"0.1", "1e39", "-1e400", "9007199254740993"} {
		want, err := strconv.ParseFloat(text, 32)
		got, _, reason := number(text, nil)
		if (err != nil) != (reason != "") || err == nil && got != float32(want) {
			t.Errorf("%s is %v (%s), want %v, %v", text, got, reason, want, err)
		}
	}
}

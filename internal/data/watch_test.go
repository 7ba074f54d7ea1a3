package data

import (
	"fmt"
	"strings"
	"testing"
)

// opened opens a file of the user and returns its notes, loud ones with an exclamation mark.
func opened(t *testing.T, spec FileSpec) (*Source, string) {
	t.Helper()
	sources, err := OpenFiles([]FileSpec{spec})
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, n := range sources[0].Notes {
		text := strings.TrimPrefix(n.Text, spec.Path+": ")
		if n.Loud {
			text = "!" + text
		}
		notes = append(notes, text)
	}
	return sources[0], strings.Join(notes, "\n")
}

// table writes columns of numbers below their names, with the labels a and b.
func table(names string, rows int, value func(column, row int) float64) []byte {
	var text strings.Builder
	fmt.Fprintln(&text, names)
	for i := range rows {
		for k := range strings.Count(names, ",") {
			fmt.Fprintf(&text, "%v,", value(k, i))
		}
		fmt.Fprintln(&text, string(rune('a'+i%2)))
	}
	return []byte(text.String())
}

func TestIndexesAreLeftOut(t *testing.T) {
	plain := func(column, row int) float64 { return float64(row*column%5) + .5 }
	for _, test := range []struct {
		names    string
		columns  Columns
		features int
		note     string
	}{
		{"Unnamed: 0,x,z,y", Columns{}, 2, "column 1 (Unnamed: 0) is the index of pandas: it is left out"},
		{"Unnamed: 0.1,Unnamed: 0,z,y", Columns{}, 1, "column 2 (Unnamed: 0) is the index"},
		{",x,z,y", Columns{}, 2, "column 1 has no name, as row numbers of pandas and R have none: it is left out"},
		{",x,z,y", Columns{Skip: []string{"1"}}, 2, ""},
		{"__index_level_0__,x,z,y", Columns{Features: []string{"__index_level_0__", "x"}}, 2, ""},
		{"Unnamed: 3,x,z,y", Columns{}, 3, ""},
	} {
		path := put(t, t.TempDir(), "a.csv", table(test.names, 20, plain))
		s, notes := opened(t, FileSpec{Path: path, TestShare: .2, Columns: test.columns})
		if s.Info.Shape.C != test.features || !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
			t.Errorf("%s: %d features, notes %q; want %d, %q", test.names, s.Info.Shape.C, notes, test.features, test.note)
		}
	}
}

// The label is the last column of the table, not the index behind it.
func TestTheIndexOfAParquetFileIsNoLabel(t *testing.T) {
	type row struct {
		A     float64 `parquet:"a"`
		Kind  int64   `parquet:"kind"`
		Index int64   `parquet:"__index_level_0__"`
	}
	path := put(t, t.TempDir(), "a.parquet", parquetFile(t, row{1, 7, 10}, row{2, 9, 11}, row{3, 7, 12}))
	s, notes := opened(t, FileSpec{Path: path, TestShare: .3})
	if fmt.Sprint(s.Info.Classes) != "[7 9]" || !strings.Contains(notes, "(__index_level_0__) is the index of pandas") {
		t.Errorf("classes %v, notes %q", s.Info.Classes, notes)
	}
}

func TestTablesOfRAreRead(t *testing.T) {
	path := put(t, t.TempDir(), "a.csv", []byte("\"x\",\"z\",\"y\"\n\"1\",5,2,\"a\"\n\"2\",4,1,\"b\"\n\"3\",4,3,\"b\"\n"))
	s, notes := opened(t, FileSpec{Path: path, TestShare: .3})
	if s.Info.Shape.C != 2 || !strings.Contains(notes, "column 1 has no name") {
		t.Errorf("%d features, notes %q", s.Info.Shape.C, notes)
	}
}

func TestColumnsThatNumberTheRowsAreNamed(t *testing.T) {
	shuffled := func(row int) float64 { return float64(row * 7 % 30) }
	for _, test := range []struct {
		names string
		first func(row int) float64
		note  string
	}{
		{"Id,x,y", func(row int) float64 { return float64(row + 1) }, "!column Id counts the rows"},
		{"t,x,y", func(row int) float64 { return float64(row + 500) }, "data.skip: [t]"},
		{"customer_id,x,y", func(row int) float64 { return float64(row * row) }, "has another number in each row"},
		{"PassengerId,x,y", func(row int) float64 { return float64(row * row) }, "!column PassengerId has another"},
		{"k,x,y", shuffled, "!column k has each number from 0 to 29 once"},
		{"area,x,y", func(row int) float64 { return float64(row * row) }, ""},
		{"id,x,y", func(row int) float64 { return float64(row % 7) }, ""},
		{"id,x,y", func(row int) float64 { return float64(row) / 2 }, ""},
	} {
		path := put(t, t.TempDir(), "a.csv", table(test.names, 30, func(column, row int) float64 {
			if column == 0 {
				return test.first(row)
			}
			return float64(row%4) + .5
		}))
		spec := FileSpec{Path: path, TestShare: .2}
		if _, notes := opened(t, spec); !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
			t.Errorf("%s: notes %q, want %q", test.names, notes, test.note)
		}
		spec.Columns.Features = []string{"1", "2"}
		if _, notes := opened(t, spec); notes != "" {
			t.Errorf("%s: columns that are wanted have the notes %q", test.names, notes)
		}
	}
}

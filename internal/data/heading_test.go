package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// flowers returns rows of numbers with three classes, the first with the label of class 0.
func flowers(columns, rows int, classes ...string) string {
	var text strings.Builder
	for i := range rows {
		for k := range columns {
			fmt.Fprintf(&text, "%g,", float64((i*7+k*5)%13)+.5)
		}
		fmt.Fprintln(&text, classes[i%len(classes)])
	}
	return text.String()
}

func TestFirstLinesAreNamesOrRows(t *testing.T) {
	names := []string{"setosa", "versicolor", "virginica"}
	numbers := []string{"0", "1", "2"}
	many := flowers(4, 30, names...)
	for _, test := range []struct {
		name, text string
		columns    Columns
		header     bool
		doubt      string // a part of the note, "" for none
	}{
		{"wavelengths", "400,402,404,406,class\n" + many, Columns{}, true,
			`the first line (400, 402, 404, ...) is taken for the names of the columns, because no row has its label ` +
				`"class"; data.header: absent makes it a row`},
		{"pandas without names", "0,1,label\n" + flowers(2, 30, numbers...), Columns{}, true, ""},
		{"pandas with its index", ",0,1,2,3,label\n" + indexed(flowers(4, 30, numbers...)), Columns{}, true, ""},
		{"the first row of another program", "5.1,3.5,1.4,0.2,label\n" + flowers(4, 30, numbers...), Columns{}, true, ""},
		{"a name above numeric labels", "5.1,3.5,1.4,0.2,kind\n" + flowers(4, 30, numbers...), Columns{}, true, ""},
		{"a name above numbers", "id,400,402,1\n" + flowers(3, 30, numbers...), Columns{}, true, ""},
		{"scikit-learn's iris.csv", "150,4,setosa,versicolor,virginica\n" + flowers(4, 30, numbers...), Columns{}, true, ""},
		{"counted columns", "0,1,2,3,4\n" + flowers(4, 30, numbers...), Columns{}, true, "its numbers are in an order"},
		{"falling columns", "9,8,7,6,5\n" + flowers(4, 30, numbers...), Columns{}, true, "data.header: absent"},
		{"rising, as some rows", "0.1,0.2,0.4,1\n0,1,7,8\n" + flowers(3, 30, numbers...), Columns{}, false, ""},
		{"counting, as no row rises evenly", "0,1,2\n0.5,0.7,1\n0.1,0.9,2\n0.3,0.2,0\n", Columns{}, true, "its numbers"},
		{"years", "2019,2021,2020,species\n" + flowers(3, 30, names...), Columns{}, true, `"species"`},
		{"rows", many, Columns{}, false, ""},
		{"numbers", flowers(4, 30, numbers...), Columns{}, false, ""},
		{"names", "a,b,c,d,e\n" + many, Columns{}, true, ""},
		{"texts alone", "e,b,n\np,b,a\ne,a,n\np,c,a\n", Columns{}, false, ""},
		{"names above texts", "class,b,n\np,b,a\ne,a,n\np,c,a\n", Columns{}, true, ""},
		{"two files in one", "class,cap\np,b\ne,a\nclass,cap\np,c\n", Columns{}, true, ""},
		{"a name that is a class", "a,b,x\n1,2,x\n3,4,y\n", Columns{}, true, ""},
		{"two counted columns", "0,1\n" + flowers(1, 30, numbers...), Columns{}, false,
			"is taken for a row; data.header: present"},
		{"each label once", "5,3,setosa\n6,2,versicolor\n7,4,virginica\n", Columns{}, false, "is taken for a row"},
		{"a missing value", "?,3.5,1.4,0.2,1\n" + flowers(4, 30, numbers...), Columns{}, false, ""},
		{"the run file says names", many, Columns{Header: "present"}, true, ""},
		{"the run file says a row", "400,402,404,406,class\n" + many, Columns{Header: "absent"}, false, ""},
		{"the run file names a column", "400,402,404,406,class\n" + many, Columns{Label: "class"}, true, ""},
		{"the run file skips a number", "400,402,404,406,class\n" + many, Columns{Skip: []string{"404"}}, true, ""},
		{"the run file numbers a column", many, Columns{Label: "5", Skip: []string{"1"}}, false, ""},
		{"late rows of the same label", "1,2,9,zz\n" + flowers(3, 3000, names...) + "1,2,3,zz\n", Columns{}, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := put(t, t.TempDir(), "a.csv", []byte(test.text))
			rows, err := openCSV(path, test.columns)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(rows.notes, "; ")
			if rows.header != test.header || (notes == "") != (test.doubt == "") || !strings.Contains(notes, test.doubt) {
				t.Errorf("header %v, note %q; want %v, %q", rows.header, notes, test.header, test.doubt)
			}
		})
	}
}

// indexed puts the row number before each row, as pandas does.
func indexed(text string) string {
	var out strings.Builder
	for i, line := range slices.Collect(strings.Lines(text)) {
		fmt.Fprintf(&out, "%d,%s", i, line)
	}
	return out.String()
}

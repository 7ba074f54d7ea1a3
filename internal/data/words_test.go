package data

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestTablesWithBlanks(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		format           string
		columns, classes []string
		rows             int
	}{
		{"numpy.savetxt", "a.txt", "5.1e+00 3.5e+00 0.0e+00\n4.9e+00 3.0e+00 1.0e+00\n6.0e+00 2.0e+00 1.0e+00\n",
			"table with blanks and no header", nil, []string{"0", "1"}, 3},
		{"numpy.savetxt with header and footer", "a.dat", "# made by hand\n# width height kind\n1 2 0\n3 4 1\n# the end\n",
			"table with blanks and a header", []string{"width", "height"}, []string{"0", "1"}, 2},
		{"numpy.savetxt with commas and header", "a.csv", "# width,kind\n1,0\n3,1\n",
			"CSV with commas and a header", []string{"width"}, []string{"0", "1"}, 2},
		{"UCI", "auto-mpg.data", "18.0   8   307.0      3504.      12.0   70  1\t\"ford torino\"\n" +
			"15.0   8   350.0      3693.      11.5   70  1\t\"buick skylark 320\"\n", "table with blanks and no header", nil,
			[]string{"buick skylark 320", "ford torino"}, 2},
		{"fixed widths", "a.txt", "\n   1.0   -2.0 a\n 100.0  -20.0 b\n\n", "table with blanks and no header", nil,
			[]string{"a", "b"}, 2},
		{"R", "a.txt", "\"len\" \"kind\"\n\"1\" 5.1 \"x y\"\n\"2\" 4.9 \"z\"\n",
			"table with blanks and a header", []string{"len"}, []string{"x y", "z"}, 2},
		{"tabs with blanks in texts", "a.tsv", "1\tiris setosa\n2\tiris versicolor\n", "CSV with tabs and no header", nil,
			[]string{"iris setosa", "iris versicolor"}, 2},
		{"commas with blanks", "a.data", "39, State-gov, 1\n50, Private, 2\n", "CSV with commas and no header", nil,
			[]string{"1", "2"}, 2},
	} {
		columns := Columns{}
		if strings.HasPrefix(test.name, "commas") {
			columns.Skip = []string{"2"}
		}
		spec := FileSpec{Path: put(t, t.TempDir(), test.file, []byte(test.text)), Columns: columns, TestShare: 0.5}
		sources, err := OpenFiles([]FileSpec{spec})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		info := sources[0].Info
		if rows := info.Train + info.Test; rows != test.rows || info.Title != test.format ||
			!slices.Equal(info.Table.Columns, test.columns) || !slices.Equal(info.Classes, test.classes) {
			t.Errorf("%s: %d rows, %+v", test.name, rows, info)
		}
	}
	for text, want := range map[string]string{
		"1 2 a\n3 4 b\n5 b\n":     "row 3 has 2 fields, want 3 as in the first line",
		"1 2 a\n3 4 b\n5 6 \"b\n": "line 3: a quote is left open",
		"1 2 a\n\n# b\n3 c d\n":   "row 2 (line 4), column 2: \"c\" is no number",
	} {
		_, err := OpenFiles([]FileSpec{{Path: put(t, t.TempDir(), "a.dat", []byte(text)), TestShare: 0.5}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// The content tells that a file is compressed, not its name.
func TestCompressedFiles(t *testing.T) {
	whole, half := squeezed(t, []byte("a,b\n1,x\n2,y\n")), squeezed(t, []byte("3,x\n4,y\n"))
	for name, test := range map[string]struct {
		file    string
		content []byte
		rows    int
		note    string
	}{
		"another name": {"a.csv", whole, 2, ""},
		"no suffix":    {"a", whole, 2, ""},
		"two members":  {"a.csv.gz", slices.Concat(whole, half), 4, ""},
		"zeros behind": {"a.csv.gz", slices.Concat(whole, make([]byte, 512)), 2, ""},
		"a line behind": {"a.csv.gz", slices.Concat(whole, []byte("\n3,x\n")), 2,
			"5 bytes behind the gzip data are not read"},
		"LIBSVM": {"a", append(squeezed(t, []byte("1 1:2\n2 2:3\n")), "xyz"...), 2,
			"3 bytes behind the gzip data are not read"},
	} {
		source, notes := opened(t, FileSpec{Path: put(t, t.TempDir(), test.file, test.content), TestShare: 0.5})
		if rows := source.Info.Train + source.Info.Test; rows != test.rows || !strings.Contains(notes, test.note) ||
			test.note == "" && notes != "" {
			t.Errorf("%s: %d rows, want %d; notes %q, want %q", name, rows, test.rows, notes, test.note)
		}
	}
	for name, content := range map[string][]byte{
		"cut": whole[:len(whole)-9], "plain": []byte("a,b\n1,x\n"),
		"damaged": bytes.Replace(whole, []byte{0x1f, 0x8b, 8}, []byte{0x1f, 0x8b, 9}, 1),
	} {
		path := put(t, t.TempDir(), "a.csv.gz", content)
		if _, err := OpenFiles([]FileSpec{{Path: path, TestShare: 0.5}}); err == nil ||
			!strings.Contains(err.Error(), path+": offset ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

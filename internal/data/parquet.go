package data

// Apache Parquet: columns in groups of rows. Only flat columns of numbers are read, and a flat column of labels.

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

const (
	parquetFooter = 64 << 20 // bytes
	parquetChunk  = 1 << 31  // bytes of a column in a group of rows, unpacked
)

// parquetRows are the rows of a Parquet file.
type parquetRows struct {
	path   string
	names  []string // of all columns
	chosen selection
	absent Absence
	made   form
}

var _ rows = (*parquetRows)(nil)

// openParquet reads the footer of a Parquet file.
func openParquet(path string, c Columns) (*parquetRows, error) {
	t := &parquetRows{path: path, absent: c.Missing}
	c.Header = ""
	return t, t.with(func(f *parquet.File) error {
		columns := f.Schema().Columns()
		for _, column := range columns {
			t.names = append(t.names, strings.Join(column, "."))
		}
		if len(columns) < 2 && !c.NoLabel {
			return t.at("the footer", "%d columns: want a label and values", len(columns))
		}
		var err error
		if t.chosen, err = c.choose(t.names, len(columns), pandasIndex(f, t.names)); err != nil {
			return t.at("the footer", "%w", err)
		}
		for _, at := range append([]int{t.chosen.label}, t.chosen.features...) {
			if at < 0 {
				continue
			}
			leaf, _ := f.Schema().Lookup(columns[at]...)
			if why := unfit(leaf, at == t.chosen.label); why != "" {
				return t.at("column "+columnName(t.names, at), "%s: leave the column out with data.skip", why)
			}
		}
		t.made = t.chosen.tableForm(fmt.Sprintf("Parquet with %d columns", len(columns)), t.names)
		return nil
	})
}

// pandasIndex returns the columns that hold an index, by their names or by the note that pandas leaves in a file.
func pandasIndex(f *parquet.File, names []string) []int {
	index := indexColumns(names)
	var said struct {
		Columns []any `json:"index_columns"` // names, or objects that describe ranges without a column
	}
	text, _ := f.Lookup("pandas")
	_ = json.Unmarshal([]byte(text), &said) // other texts name nothing
	for _, column := range said.Columns {
		name, _ := column.(string)
		if at := slices.Index(names, name); at >= 0 && !slices.Contains(index, at) {
			index = append(index, at)
		}
	}
	return index
}

// unfit says why a column cannot be read, "" if it can.
func unfit(leaf parquet.LeafColumn, label bool) string {
	if leaf.Node == nil || len(leaf.Path) > 1 || leaf.MaxRepetitionLevel > 0 {
		return "it is nested"
	}
	kind := leaf.Node.Type()
	if logical := kind.LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.StringType, *format.EnumType, nil:
		case *format.IntType:
			if !logical.Value.(*format.IntType).IsSigned && logical.Value.(*format.IntType).BitWidth >= 32 {
				return "unsigned numbers of 32 bits or more: store them signed"
			}
		default:
			return fmt.Sprintf("values of type %s are no plain numbers", kind)
		}
	}
	switch kind.Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return ""
	case parquet.ByteArray:
		if label {
			return ""
		}
		return "its values are texts"
	}
	return fmt.Sprintf("values of type %s are no numbers", kind)
}

func (t *parquetRows) at(place, reason string, args ...any) error {
	return &FormatError{t.path, place, fmt.Errorf(reason, args...)}
}

// with opens the file. The library panics on some damaged files.
func (t *parquetRows) with(read func(*parquet.File) error) (err error) {
	file, err := os.Open(t.path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	defer func() {
		if p := recover(); p != nil {
			err = t.at("its content", "the file is damaged: %v", p)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if err := t.checkFooter(file, info.Size()); err != nil {
		return err
	}
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return t.at("the footer", "%w", err)
	}
	if err := t.checkSizes(f); err != nil {
		return err
	}
	return read(f)
}

// checkFooter checks the length of the footer, for which the library would take memory unseen.
func (t *parquetRows) checkFooter(file io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return t.at("the footer", "the file ends here, too early")
	}
	if _, err := file.ReadAt(tail[:], size-8); err != nil {
		return t.at("the footer", "%w", err)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if string(tail[4:]) != "PAR1" || length > size-12 || length > parquetFooter {
		return t.at("the footer", "it has %d bytes and ends with %q: the file is damaged or incomplete", length, tail[4:])
	}
	return nil
}

// checkSizes refuses pages that hold more than their chunk may: a chunk is a group's values of one column.
func (t *parquetRows) checkSizes(f *parquet.File) error {
	for i, group := range f.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			m := chunk.MetaData
			if group.NumRows < 0 || group.NumRows > libsvmDenseSize || m.NumValues > libsvmDenseSize ||
				m.TotalUncompressedSize < 0 || m.TotalUncompressedSize > parquetChunk {
				return t.at(fmt.Sprintf("group of rows %d", i+1), "%d rows, %d values and %d bytes in a column: "+
					"want at most %d and %d", group.NumRows, m.NumValues, m.TotalUncompressedSize, libsvmDenseSize, parquetChunk)
			}
		}
	}
	return nil
}

func (t *parquetRows) form() form   { return t.made }
func (t *parquetRows) file() string { return t.path }

func (t *parquetRows) scan(see func(int, record) error, judge func(*CellError) error) error {
	return t.with(func(f *parquet.File) error {
		out := record{floats: make([]float32, len(t.chosen.features)), wide: make([]float64, len(t.chosen.features))}
		row := 0
		for _, group := range f.RowGroups() {
			read := group.Rows()
			err := t.group(read, group.NumRows(), func(values parquet.Row) error {
				if err := t.row(&out, values, row, judge); err != nil {
					return err
				}
				row++
				if err := see(row-1, out); err != nil {
					return t.at(fmt.Sprintf("row %d", row), "%w", err)
				}
				return nil
			})
			if err = errors.Join(err, read.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}

// group reads the rows of a group.
func (t *parquetRows) group(read parquet.Rows, want int64, see func(parquet.Row) error) error {
	buffer := make([]parquet.Row, 64)
	for seen := int64(0); ; {
		n, err := read.ReadRows(buffer)
		for _, values := range buffer[:n] {
			if err := see(values); err != nil {
				return err
			}
		}
		seen += int64(n)
		switch {
		case err == io.EOF && seen != want:
			return t.at("a group of rows", "it ends after %d rows, want %d", seen, want)
		case err == io.EOF:
			return nil
		case err != nil:
			return t.at("a group of rows", "%w", err)
		case n == 0:
			return t.at("a group of rows", "no row follows, want %d more", want-seen)
		}
	}
}

// row takes the values of one row.
func (t *parquetRows) row(out *record, values parquet.Row, i int, judge func(*CellError) error) error {
	if len(values) != len(t.names) {
		return t.at(fmt.Sprintf("row %d", i+1), "%d values, want %d", len(values), len(t.names))
	}
	bad := func(at int, reason string) error {
		return judge(&CellError{File: t.path, Row: i + 1, Column: columnName(t.names, at),
			Missing: reason == missingCell || reason == noLabel, Reason: reason})
	}
	for k, at := range t.chosen.features {
		var reason string
		if out.floats[k], out.wide[k], reason = parquetNumber(values[at]); reason != "" {
			if err := bad(at, reason); err != nil {
				return err
			}
		}
	}
	if t.chosen.label < 0 {
		return nil
	}
	out.label = parquetLabel(values[t.chosen.label], t.absent)
	if out.label == "" {
		return bad(t.chosen.label, noLabel)
	}
	return nil
}

func parquetNumber(v parquet.Value) (narrowed float32, wide float64, reason string) {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1, 1, ""
		}
		return 0, 0, ""
	case parquet.Int32:
		return float32(v.Int32()), float64(v.Int32()), ""
	case parquet.Int64:
		return float32(v.Int64()), float64(v.Int64()), ""
	case parquet.Float:
		wide = float64(v.Float())
	case parquet.Double:
		wide = v.Double()
	default:
		wide = math.NaN()
	}
	narrowed, reason = narrow(wide)
	return narrowed, wide, reason
}

func parquetLabel(v parquet.Value, missing Absence) string {
	switch v.Kind() {
	case parquet.ByteArray:
		return missing.labelOf(string(v.ByteArray()))
	case parquet.Int32, parquet.Int64:
		return v.String()
	}
	_, wide, _ := parquetNumber(v)
	return numberLabel(wide)
}

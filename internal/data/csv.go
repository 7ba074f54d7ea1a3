package data

// Comma-separated values, Y. Shafranovich, RFC 4180 (2005): also with semicolons, tabs or blanks.

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gossiptrainer/internal/human"
)

const (
	csvRecord  = 16 << 20 // bytes of a row, about
	csvColumns = 1 << 20
	csvSniff   = 64 << 10 // bytes in which the first line must end for its delimiter to be found
)

// csvRows are the rows of a CSV file.
type csvRows struct {
	path   string
	comma  rune
	header bool
	names  []string // of all columns; nil without a header
	width  int      // columns
	chosen selection
	absent Absence
	notes  []string // for users, about the file
	behind string   // a note on bytes that were left at the end, known after a scan
	means  bool     // a missing number counts as the mean of its column
	filled int      // values that are missing and count as the mean, known after a scan
}

var _ rows = (*csvRows)(nil)

// openCSV reads the first rows of a CSV file, or more where these do not show whether the first line has names.
func openCSV(path string, c Columns) (*csvRows, error) {
	t := &csvRows{path: path, absent: c.Missing, means: c.Encode}
	err := withFile(path, func(cur *cursor) error {
		r, err := t.reader(cur)
		if err != nil {
			return err
		}
		first, err := r.next()
		switch {
		case err == io.EOF:
			return atLine(path, 1, emptyFile)
		case err != nil:
			return err
		case strings.HasPrefix(first[0], "sep="):
			return atLine(path, 1, "%s is a line for Excel alone: remove it", first[0])
		}
		first = slices.Clone(first)
		second, err := r.next()
		if err != nil && err != io.EOF {
			return err
		}
		if n := len(second); n == len(first)+1 && second[n-1] != "" && !slices.ContainsFunc(first, isNumber) {
			first = slices.Insert(first, 0, "") // R writes no name above its row numbers
		}
		return t.begin(first, second, r, c)
	})
	if err == nil {
		err = t.encode(c)
	}
	return t, err
}

// begin decides about the header and the columns.
func (t *csvRows) begin(first, second []string, r *csvLines, c Columns) error {
	t.width = len(first)
	switch {
	case t.width == 1 && !c.NoLabel:
		return atLine(t.path, 1, "one column only: want a label and values with , ; tabs or blanks between them, "+
			"and above the rows at most a line with their names")
	case t.width > csvColumns:
		return atLine(t.path, 1, "%d columns: want at most %d", t.width, csvColumns)
	}
	for i, name := range first {
		first[i] = strings.TrimSpace(name)
	}
	first[0] = strings.TrimPrefix(first[0], "# ") // as numpy.savetxt begins a header
	head := newHeading(t.plainly(first), c)
	for fields := second; fields != nil && head.see(t.plainly(fields)); {
		var err error
		if fields, err = r.next(); err == io.EOF {
			fields = nil
		} else if err != nil {
			return err
		}
	}
	var doubt string
	if t.header, doubt = head.decide(); doubt != "" {
		t.notes = append(t.notes, doubt)
	}
	if t.header && second == nil {
		return atLine(t.path, 2, "the file has a header, but no rows: add some, or set data.header: absent if "+
			"the line is a row")
	}
	if t.header {
		t.names = first
	}
	var err error
	if t.chosen, err = c.choose(t.names, t.width, indexColumns(t.names)); err != nil {
		return atLine(t.path, 1, "%w", err)
	}
	if at := t.chosen.label; t.header && at >= 0 && t.names[at] == "" && second[at] == "" {
		return atLine(t.path, 1, "%w", labelErrorf("column %d is that of the labels, and empty: name the column of the "+
			"classes with data.label", at+1))
	}
	for _, at := range t.chosen.features {
		if t.header && t.names[at] == "" {
			return atLine(t.path, 1, `column %d has no name: leave it out with data.skip: ["%d"], or give it a name`,
				at+1, at+1)
		}
	}
	return nil
}

func (t *csvRows) file() string { return t.path }

func (t *csvRows) form() form {
	names := map[rune]string{',': "commas", ';': "semicolons", '\t': "tabs", ' ': "blanks"}
	head := "no header"
	if t.header {
		head = "a header"
	}
	kind := "CSV"
	if t.comma == ' ' {
		kind = "table"
	}
	made := t.chosen.tableForm(fmt.Sprintf("%s with %s and %s", kind, names[t.comma], head), t.names)
	made.notes = append(made.notes, t.notes...)
	if t.filled > 0 {
		made.notes = append(made.notes, human.Count(t.filled, "value")+" "+human.Verb(t.filled, "is", "are")+
			" missing: the mean of the column stands for each")
	}
	if t.behind != "" {
		made.notes = append(made.notes, t.behind)
	}
	return made
}

// each passes the fields of all rows.
func (t *csvRows) each(see func(i int, fields []string, r *csvLines) error) error {
	return withFile(t.path, func(cur *cursor) error {
		r, err := t.reader(cur)
		if err != nil {
			return err
		}
		if t.header {
			if _, err := r.next(); err != nil {
				return err
			}
		}
		for i := 0; ; i++ {
			fields, err := r.next()
			if err == io.EOF {
				t.behind = cur.behind()
				return nil
			}
			if err != nil {
				return err
			}
			if len(fields) != t.width {
				return atLine(t.path, r.line(0), "row %d has %d fields, want %d as in the first line: complete the row, or "+
					"put texts with %q into quotes", i+1, len(fields), t.width, t.comma)
			}
			if err := see(i, fields, r); err != nil {
				return err
			}
		}
	})
}

func (t *csvRows) scan(see func(int, record) error, judge func(*CellError) error) error {
	p := rowParser{t: t, judge: judge, known: t.chosen.known()}
	p.out = record{floats: make([]float32, len(t.chosen.features)), wide: make([]float64, len(t.chosen.features))}
	err := t.each(func(i int, fields []string, r *csvLines) error {
		if err := p.parse(fields, i, r); err != nil {
			return err
		}
		if err := see(i, p.out); err != nil {
			return &FormatError{t.path, fmt.Sprintf("row %d (line %d)", i+1, r.line(0)), err}
		}
		return nil
	})
	t.filled = p.filled
	return err
}

// A rowParser turns the fields of rows into records.
type rowParser struct {
	t      *csvRows
	judge  func(*CellError) error
	known  map[int]map[string]bool // the texts of encoded columns
	out    record
	filled int    // missing values
	mark   string // of the first number with decimals: a comma or a point
}

// parse parses the fields of row i.
func (p *rowParser) parse(fields []string, i int, r *csvLines) error {
	t := p.t
	bad := func(at int, reason string) error {
		e := &CellError{File: t.path, Row: i + 1, Line: r.line(at), Column: columnName(t.names, at),
			Missing: reason == missingCell || reason == noLabel, Reason: reason}
		if reason == missingCell {
			e.Reason += "; data.encode: true takes the mean of the column"
		}
		return p.judge(e)
	}
	for k, at := range t.chosen.features {
		if reason := p.cell(k, at, fields[at]); reason != "" {
			if err := bad(at, reason); err != nil {
				return err
			}
		}
	}
	if t.chosen.label < 0 {
		return nil
	}
	if p.out.label = t.absent.labelOf(t.plain(fields[t.chosen.label])); p.out.label == "" {
		return bad(t.chosen.label, noLabel)
	}
	return nil
}

// cell parses the text of feature k in column at, and returns the mistake in it, "" for none.
func (p *rowParser) cell(k, at int, text string) (reason string) {
	if value := p.t.chosen.valueOf(k); value != "" {
		text = strings.TrimSpace(text)
		p.out.floats[k], p.out.wide[k] = 0, 0
		if text == value {
			p.out.floats[k], p.out.wide[k] = 1, 1
		} else if known := p.known[at]; !known[text] && !p.t.absent.value(text) {
			had := several(slices.Sorted(maps.Keys(known)))
			return fmt.Sprintf("%.30q is none of the texts that the column had: %s", text, had)
		}
		return ""
	}
	plain := p.t.plain(text)
	p.out.floats[k], p.out.wide[k], reason = number(plain, p.t.absent)
	switch {
	case reason == missingCell && p.t.means:
		p.filled++
		return ""
	case reason != "":
		if text, ok := strings.CutSuffix(reason, noNumber); ok && p.t.means {
			return text + ", as most of the column are: correct it, or list it in data.missing"
		}
		return reason
	case p.t.comma == ',' || !strings.ContainsAny(text, ",."):
		return ""
	}
	mark := "."
	if plain != text {
		mark = ","
	}
	if p.mark = cmp.Or(p.mark, mark); p.mark != mark {
		return fmt.Sprintf("%.30q: the file has decimal commas and decimal points: write one of them", text)
	}
	return ""
}

// csvLines reads records with a bound on their length.
type csvLines struct {
	path    string
	from    *bounded
	records *csv.Reader
	words   *wordReader // in place of records, for blanks
}

// reader begins to read. The first call finds the delimiter.
func (t *csvRows) reader(cur *cursor) (*csvLines, error) {
	from := &bounded{r: cur, left: csvRecord}
	buffered := bufio.NewReaderSize(from, csvSniff)
	head, _ := buffered.Peek(csvSniff) // a short file, or an error that the next read returns
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, atOffset(t.path, 0, "the text is UTF-16: save it as UTF-8")
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		head = head[3:]
		_, _ = buffered.Discard(3) // was peeked
	}
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		return nil, atLine(t.path, 1, "lines end with a carriage return alone: save the file with line feeds")
	}
	if at := bytes.IndexFunc(head, isControl); at >= 0 {
		return nil, atOffset(t.path, int64(at), "a byte %#02x: this is no text: save a table as CSV in UTF-8, or arrays "+
			"with numpy.savez", head[at])
	}
	if t.comma == 0 {
		t.comma = delimiter(head)
	}
	if t.comma == ' ' {
		return &csvLines{path: t.path, from: from, words: newWordReader(buffered)}, nil
	}
	r := csv.NewReader(buffered)
	r.Comma, r.ReuseRecord, r.FieldsPerRecord = t.comma, true, -1
	return &csvLines{path: t.path, from: from, records: r}, nil
}

// isControl reports whether r is a control character that no text has. Old programs end texts with 0x1a.
func isControl(r rune) bool { return r < '\t' || r > '\r' && r < 0x1a || r > 0x1a && r < ' ' }

// delimiter returns the tab, semicolon or comma outside quotes in the first line without #, in this order, and a blank
// for lines of words without any.
func delimiter(head []byte) rune {
	var seen [3]bool
	quoted := false
	text := bytes.TrimLeft(withoutComments(head), "\r\n")
	for _, b := range text {
		if b == '"' {
			quoted = !quoted
		}
		if b == '\n' && !quoted {
			break
		}
		if at := strings.IndexByte("\t;,", b); at >= 0 && !quoted {
			seen[at] = true
		}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	cells := bytes.Split(line, []byte("\t"))
	switch {
	case seen[0] && !seen[1] && !seen[2] && slices.ContainsFunc(cells, numbersInCell):
		return ' '
	case seen[0]:
		return '\t'
	case seen[1]:
		return ';'
	case !seen[2] && hasWords(head):
		return ' '
	}
	return ','
}

// next returns the next record, io.EOF at the end. It is valid until the next call.
func (l *csvLines) next() ([]string, error) {
	l.from.left = csvRecord
	if l.words != nil {
		fields, err := l.words.Read()
		if located, ok := errors.AsType[*FormatError](err); ok {
			return nil, located
		}
		if err != nil && err != io.EOF {
			return nil, atLine(l.path, l.words.line, "%w", err)
		}
		return fields, err
	}
	fields, err := l.records.Read()
	if err == nil || err == io.EOF {
		return fields, err
	}
	if located, ok := errors.AsType[*FormatError](err); ok {
		return nil, located
	}
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, &FormatError{l.path, fmt.Sprintf("line %d, character %d", parse.Line, parse.Column),
			fmt.Errorf(`%w: write quotes around the whole text, and "" for a quote in it`, parse.Err)}
	}
	return nil, &FormatError{l.path, fmt.Sprintf("offset %d", l.records.InputOffset()), err}
}

// line returns the line of a field of the last record.
func (l *csvLines) line(field int) int {
	if l.words != nil {
		return l.words.line
	}
	line, _ := l.records.FieldPos(field)
	return line
}

// bounded is a reader that fails after a number of bytes.
type bounded struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a row with more than %d bytes: is a quote left open, or is a line without an end", csvRecord)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

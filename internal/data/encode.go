package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Columns of texts become numbers where a run file asks for it: one column of 0 and 1 for each text, as "one-hot"
// encoders of other programs do. Such a column is named after both, as in colour=red.

// mostTexts bounds the texts of a column that is encoded. One with more of them names its rows.
const mostTexts = 64

// A kind counts what a column of a table holds.
type kind struct {
	numbers, texts int
	values         map[string]bool // of the texts, some more than mostTexts
}

func (k *kind) see(text string, absent Absence, number bool) {
	switch text = strings.TrimSpace(text); {
	case absent.value(text):
	case number:
		k.numbers++
	default:
		if k.texts++; len(k.values) <= mostTexts {
			k.values[strings.Clone(text)] = true
		}
	}
}

// encode reads the file and gives each column of texts a column for each of them. A column is one of texts if most of
// its values are no numbers; a few of these are mistakes. Columns with too many texts are left out, with a note.
func (t *csvRows) encode(c Columns) error {
	if !c.Encode || t.chosen.values != nil { // data.features or a model names the columns
		return nil
	}
	kinds := make([]kind, len(t.chosen.features))
	for k := range kinds {
		kinds[k].values = map[string]bool{}
	}
	err := t.each(func(_ int, fields []string, _ *csvLines) error {
		for k, at := range t.chosen.features {
			kinds[k].see(fields[at], t.absent, isNumber(strings.TrimSpace(t.plain(fields[at]))))
		}
		return nil
	})
	if err != nil {
		return err
	}
	old := t.chosen.features
	t.chosen.features = nil
	for k, at := range old {
		values := kinds[k].values
		switch {
		case kinds[k].texts <= kinds[k].numbers:
			t.chosen.add(at, "")
		case t.names == nil:
			return atLine(t.path, 1, "column %d has texts, and data.encode needs names of columns: write a first line with "+
				"names above the rows", at+1)
		case len(values) > mostTexts && len(c.Features) > 0:
			return atLine(t.path, 1, "column %s has more than %d texts: data.encode cannot use it", columnName(t.names, at),
				mostTexts)
		case len(values) > mostTexts:
			t.notes = append(t.notes, fmt.Sprintf("column %s is left out: it has more than %d texts",
				columnName(t.names, at), mostTexts))
		default:
			for _, value := range slices.Sorted(maps.Keys(values)) {
				t.chosen.add(at, value)
			}
		}
	}
	if len(t.chosen.features) == 0 {
		return atLine(t.path, 1, noFeatures)
	}
	return nil
}

// add appends a feature: a column of numbers, or the column of one of its texts.
func (s *selection) add(at int, value string) {
	s.features, s.values = append(s.features, at), append(s.values, value)
}

// valueOf returns the text whose column feature k is, "" for a column of numbers.
func (s selection) valueOf(k int) string {
	if s.values == nil {
		return ""
	}
	return s.values[k]
}

// known returns the texts of the columns that are encoded.
func (s selection) known() map[int]map[string]bool {
	all := map[int]map[string]bool{}
	for k, at := range s.features {
		if value := s.valueOf(k); value != "" {
			if all[at] == nil {
				all[at] = map[string]bool{}
			}
			all[at][value] = true
		}
	}
	return all
}

// encoded finds the column and the text that a name like colour=red stands for.
func encoded(ref string, names []string) (at int, value string, ok bool) {
	for i, r := range ref {
		if r != '=' {
			continue
		}
		if at = slices.Index(names, ref[:i]); at >= 0 && i+1 < len(ref) {
			return at, ref[i+1:], true
		}
	}
	return 0, "", false
}

// featureColumn returns the column that ref of data.features names. If ref names a text of it, too, value is that text.
func featureColumn(ref string, names []string, n int) (at int, value string, err error) {
	if at, err = findColumn("data.features", ref, names, n); err == nil {
		return at, "", nil
	}
	if of, value, ok := encoded(ref, names); ok {
		return of, value, nil
	}
	return 0, "", err
}

// plain writes a number with a decimal point. A file with commas between its columns has no decimal commas.
func (t *csvRows) plain(text string) string {
	if t.comma == ',' || strings.Count(text, ",") != 1 || strings.Contains(text, ".") {
		return text
	}
	if point := strings.Replace(text, ",", ".", 1); isNumber(strings.TrimSpace(point)) {
		return point
	}
	return text
}

// plainly is plain for the cells of a row.
func (t *csvRows) plainly(fields []string) []string {
	if t.comma == ',' {
		return fields
	}
	made := make([]string, len(fields))
	for i, text := range fields {
		made[i] = t.plain(text)
	}
	return made
}

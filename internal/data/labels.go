package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/human"
)

// Absence says which texts stand for a missing value; nil means the usual ones. The empty text always does.
type Absence []string

// value reports whether the text of a value is missing. Usual are the texts that pandas takes, ? of UCI, and -.
func (a Absence) value(text string) bool {
	if text == "" || a != nil {
		return text == "" || slices.Contains(a, text)
	}
	switch strings.ToLower(text) {
	case "na", "n/a", "nan", "null", "none", "?", "-":
		return true
	}
	return false
}

// label reports whether the text of a label is missing. Usual are only those that name no class: Namibia is NA, and -
// is a result.
func (a Absence) label(text string) bool {
	if text == "" || a != nil {
		return a.value(text)
	}
	return text == "?" || strings.EqualFold(text, "nan")
}

// labelOf returns the label that a text names, "" if it is missing.
func (a Absence) labelOf(text string) string {
	if text = strings.TrimSpace(text); a.label(text) {
		return ""
	}
	return text
}

// numberLabel returns the label that a number of 64 bits names, "" if it is not finite.
func numberLabel(v float64) string {
	if v != v || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64) // + 0 makes −0 the number 0
}

// wholeNumber returns a plain whole number in its shortest form: 7 for 7, +7, 7.0 and 7.00e+00. Texts such as 007, 0x7
// and 7e0 are no plain numbers: they may be codes.
func wholeNumber(text string) (short string, ok bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return "", false
	}
	if strings.Trim(digits, "0123456789") == "" {
		if text[0] == '-' && digits != "0" {
			return text, true
		}
		return digits, true
	}
	v, err := strconv.ParseFloat(text, 64)
	const exact = 1 << 53
	if err != nil || digits[0] < '0' || digits[0] > '9' || !strings.Contains(digits, ".") ||
		v != math.Trunc(v) || math.Abs(v) > exact {
		return "", false
	}
	return numberLabel(v), true
}

// naming returns how texts of labels become names of classes: equal numbers have one name if all texts are plain whole
// numbers. Else each text is a name.
func naming(texts []string) func(text string) string {
	for _, text := range texts {
		if _, ok := wholeNumber(text); !ok {
			return func(text string) string { return text }
		}
	}
	return func(text string) string {
		if short, ok := wholeNumber(text); ok {
			return short
		}
		return text
	}
}

// ClassNames returns the classes that texts of labels name, each as often as there are texts for it.
func ClassNames(texts []string) []string {
	name, names := naming(texts), make([]string, len(texts))
	for i, text := range texts {
		names[i] = name(text)
	}
	return names
}

// SortClasses sorts names of classes: by value if all are numbers, else by their bytes.
func SortClasses(classes []string) {
	if slices.ContainsFunc(classes, func(c string) bool { return !isNumber(c) }) {
		slices.Sort(classes)
		return
	}
	slices.SortStableFunc(classes, func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// A tally counts the rows of each label of a file.
type tally struct {
	texts []string // as they are in the file, in the order of their first rows
	rows  []int    // by text
	at    map[string]int
}

// add counts a row and returns the position of its label among the texts.
func (t *tally) add(text string) int {
	at, ok := t.at[text]
	if !ok {
		if t.at == nil {
			t.at = map[string]int{}
		}
		at, text = len(t.texts), strings.Clone(text)
		t.at[text], t.texts, t.rows = at, append(t.texts, text), append(t.rows, 0)
	}
	t.rows[at]++
	return at
}

// notes says what became of labels of a file that are equal as numbers, or that look like missing values.
func (t *tally) notes(file string, name func(text string) string, missing Absence) (notes []Note) {
	byValue := map[float64][]string{}
	for _, text := range t.texts {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			byValue[v] = append(byValue[v], text)
		}
	}
	for _, equal := range byValue {
		if len(equal) < 2 {
			continue
		}
		slices.Sort(equal)
		became := "%s: the labels %s are equal as numbers, and %d classes, because not all labels are plain whole numbers"
		if name(equal[0]) == name(equal[1]) {
			became = "%s: the labels %s are equal as numbers: %d texts are one class"
		}
		notes = append(notes, Note{File: file, Text: fmt.Sprintf(became, file, several(equal), len(equal))})
	}
	slices.SortFunc(notes, func(a, b Note) int { return cmp.Compare(a.Text, b.Text) })
	for k, text := range t.texts {
		if opposite := text == "-" && slices.Contains(t.texts, "+"); missing == nil && missing.value(text) && !opposite {
			notes = append(notes, Note{file, missingClass(file, text, t.rows[k]), true})
		}
	}
	return notes
}

// missingClass warns of a class whose name usually stands for a missing value.
func missingClass(file, text string, rows int) string {
	return fmt.Sprintf("%s: the label %q of %s is a class: if it stands for missing labels, set data.missing: [%q]",
		file, text, human.Count(rows, "row"), text)
}

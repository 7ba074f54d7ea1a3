package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A heading decides from the rows beneath whether the first line of a table has the names of the columns. Rows are
// exchangeable: it is unlikely that only the first one has its label, or that only its numbers are in order.
type heading struct {
	first   []string
	settled bool // no row can change names
	names   bool // the decision, once it is settled
	label   int  // column of the labels if the first line has names
	number  []bool
	missing Absence
	texts   []int  // columns with a text in the first line and numbers beneath
	again   []bool // by column: a row beneath has the text of the first line; nil if that has numbers
	order   order  // of the numbers in the first line, orderless if a row beneath has it too

	rows     int             // beneath
	labels   map[string]bool // beneath
	repeated bool            // a label occurs twice beneath
}

// An order says how the numbers of a line follow each other.
type order int

const (
	orderless order = iota
	rising
	falling
	even // in steps of one size, as names do that count
)

const (
	fewNames  = 3    // numbers whose order says something
	manyCells = 1000 // numbers beneath a text that make it a name
)

// newHeading begins with the first line, without blanks around its cells, and what the run file says.
func newHeading(first []string, c Columns) *heading {
	h := &heading{first: first, number: make([]bool, len(first)), missing: c.Missing, labels: map[string]bool{}}
	numbers := 0
	for i, cell := range first {
		switch h.number[i] = isNumber(cell); {
		case h.number[i]:
			numbers++
		case !h.missing.value(cell):
			h.texts = append(h.texts, i)
		}
	}
	named := slices.ContainsFunc(first, func(cell string) bool { return strings.EqualFold(cell, labelName) })
	switch {
	case c.Header == "present" || c.Header == "absent":
		h.settled, h.names = true, c.Header == "present"
	case named || c.names(first):
		h.settled, h.names = true, true
	case numbers == 0:
		h.again = make([]bool, len(first))
	}
	var err error
	if h.label, err = c.labelColumn(first, len(first), indexColumns(first)); err != nil {
		h.label = len(first) - 1 // choose returns the error
	}
	h.order = h.orderOf(first)
	return h
}

// names reports whether the run file names a column by a cell of the first line that is no column number.
func (c Columns) names(first []string) bool {
	all := slices.Concat([]string{c.Label}, c.Features, c.Skip)
	if c.trained != nil {
		all = append(all, c.trained.Columns...)
	}
	return slices.ContainsFunc(all, func(ref string) bool {
		v, err := strconv.Atoi(ref)
		number := err == nil && v != 0 && v >= -len(first) && v <= len(first)
		return ref != "" && !number && slices.Contains(first, ref)
	})
}

// orderOf returns the order of a line's numbers, in the columns where the first line has numbers.
func (h *heading) orderOf(fields []string) order {
	var all []float64
	for i, is := range h.number {
		if !is {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[i]), 64)
		if err != nil {
			return orderless
		}
		all = append(all, v)
		if n := len(all); n > 2 && !(all[n-3] < all[n-2] && all[n-2] < v || all[n-3] > all[n-2] && all[n-2] > v) {
			return orderless
		}
	}
	if len(all) < fewNames {
		return orderless
	}
	step := all[1] - all[0]
	for i, v := range all[1:] {
		if math.Abs(v-all[i]-step) > 1e-6*math.Abs(step) && step > 0 {
			return rising
		} else if math.Abs(v-all[i]-step) > 1e-6*math.Abs(step) {
			return falling
		}
	}
	return even
}

// see takes in a row beneath the first line. It returns false if more rows would change nothing.
func (h *heading) see(fields []string) bool {
	h.rows++
	if h.settled || len(fields) != len(h.first) { // the scan refuses such a row
		return false
	}
	if h.again != nil {
		return h.seeTexts(fields)
	}
	h.texts = slices.DeleteFunc(h.texts, func(i int) bool {
		text := strings.TrimSpace(fields[i])
		return !isNumber(text) && !h.missing.value(text)
	})
	if h.order != orderless && h.orderOf(fields) == h.order {
		h.order = orderless
	}
	label := strings.TrimSpace(fields[h.label])
	h.repeated = h.repeated || h.labels[label]
	if len(h.labels) <= libsvmClasses {
		h.labels[strings.Clone(label)] = true
	}
	switch {
	case !h.number[h.label] && label == h.first[h.label]:
		h.settled = true // the first line has a class that others have too
	case len(h.texts) > 0 && h.rows >= manyCells:
		h.settled, h.names = true, true
	}
	return !h.settled && (len(h.texts) > 0 || h.order != orderless || !h.number[h.label])
}

// seeTexts is see where the first line is all texts. These are names, unless each occurs in its column again. A row
// that has them all may be a second line of names.
func (h *heading) seeTexts(fields []string) bool {
	same := make([]bool, len(fields))
	for i, cell := range fields {
		cell = strings.TrimSpace(cell)
		same[i] = cell == h.first[i]
		h.settled = h.settled || isNumber(cell)
	}
	if slices.Contains(same, false) {
		for i, is := range same {
			h.again[i] = h.again[i] || is
		}
	}
	h.names = h.settled || slices.Contains(h.again, false)
	h.settled = h.settled || !h.names || h.rows >= manyCells
	return !h.settled
}

// decide returns whether the first line has names. Where another reading is possible, doubt says how the line was
// read.
func (h *heading) decide() (names bool, doubt string) {
	text := !h.number[h.label]
	switch {
	case h.settled:
		return h.names, ""
	case h.again != nil:
		return true, ""
	case h.rows > 0 && len(h.texts) > 0:
		return true, ""
	case h.rows > 0 && text && !h.missing.label(h.first[h.label]) && (h.repeated || h.order != orderless):
		return true, h.taken("the names of the columns", "absent makes it a row",
			fmt.Sprintf(", because no row has its label %.40q", h.first[h.label]))
	case h.rows > 0 && h.order != orderless:
		return true, h.taken("the names of the columns", "absent makes it a row",
			", because its numbers are in an order that those of no row have")
	case text || h.counts():
		return false, h.taken("a row", "present makes it the names of the columns", "")
	}
	return false, ""
}

// taken says what the first line was taken for.
func (h *heading) taken(as, other, why string) string {
	line := strings.Join(h.first[:min(len(h.first), fewNames)], ", ")
	if len(h.first) > fewNames {
		line += ", ..."
	}
	return fmt.Sprintf("the first line (%.60s) is taken for %s%s; data.header: %s", line, as, why, other)
}

// counts reports whether a line that is too short for an order counts its columns.
func (h *heading) counts() bool {
	for i, cell := range h.first {
		if cell != strconv.Itoa(i) && cell != strconv.Itoa(i+1) {
			return false
		}
	}
	return len(h.first) < fewNames
}
